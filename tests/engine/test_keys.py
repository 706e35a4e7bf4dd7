"""Idempotency keys: one key is one task, however often it is submitted."""

import threading

import pytest

from keptstep import App, KeyConflict, Registry, Run, workflow


def test_the_same_key_is_the_same_task_also_from_many_threads(
    app: App, registry: Registry
) -> None:
    @workflow(registry=registry)
    async def echo(run: Run, n: int) -> int:
        return n

    ids: list[bytes] = []
    created: list[bool] = []

    def submit() -> None:
        handle = app.submit(echo, key="order-1", n=1)
        ids.append(handle.id)
        created.append(handle.created)

    threads = [threading.Thread(target=submit) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 1
    assert created.count(True) == 1
    assert app.submit(echo, key="order-1", n=1).result(20).value == 1


def test_the_same_key_with_another_input_is_refused(app: App, registry: Registry) -> None:
    @workflow(registry=registry)
    async def echo(run: Run, n: int) -> int:
        return n

    app.submit(echo, key="k", n=1)
    with pytest.raises(KeyConflict, match="another workflow or input"):
        app.submit(echo, key="k", n=2)
