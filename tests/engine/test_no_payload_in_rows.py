"""The database holds references, never a payload: looked for byte by byte (R28)."""

import logging
from collections.abc import Callable

import pytest

from keptstep import App, Registry, Result, Run, StepFailed, tool, workflow

SIZES = (10, 900, 10_000_000)


def marker(size: int) -> str:
    """Return a text of ``size`` characters that stands nowhere else."""
    return (f"MARK{size}-" + "q7Zx" * (size // 4 + 1))[:size]


@pytest.mark.parametrize("size", SIZES)
def test_no_part_of_a_result_is_in_the_database_its_log_or_our_log_lines(
    open_app: Callable[..., App],
    registry: Registry,
    size: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    @tool(registry=registry, effect="none")
    def make() -> str:
        return marker(size)

    @tool(registry=registry, effect="none")
    def by_ref(text: str) -> int:
        return len(text)

    @tool(registry=registry, effect="none")
    def by_value(text: str) -> int:
        return len(text)

    @tool(registry=registry, effect="none", retry=1)
    def raising(text: str) -> int:
        raise ValueError(f"cannot take {text}")

    @workflow(registry=registry)
    async def passing(run: Run) -> Result[str]:
        made = await run.step("make", make)
        await run.step("ref", by_ref, text=made.ref)
        await run.step("value", by_value, text=made.value)
        with pytest.raises(StepFailed) as failed:
            await run.step("raise", raising, text=made.value)
        assert marker(size)[:10] in failed.value.detail
        return made

    app = open_app().start()
    handle = app.submit(passing)
    assert handle.result(50).value == marker(size)
    assert len(app.store.steps(handle.id)) == 4
    files = [path for path in app.settings.home.iterdir() if path.name.startswith("keptstep.db")]
    assert {path.name for path in files} >= {"keptstep.db", "keptstep.db-wal"}
    needle = marker(size)[:10].encode()
    for path in files:
        assert needle not in path.read_bytes(), path.name
    assert needle.decode() not in caplog.text
    events = " ".join(str(dict(event.data)) for event in app.store.events(handle.id))
    assert needle.decode() not in events


def test_a_workflow_that_raises_with_a_payload_keeps_it_out_of_the_row(
    open_app: Callable[..., App], registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    @workflow(registry=registry, attempts=1)
    async def leaky(run: Run) -> int:
        raise RuntimeError(marker(900))

    app = open_app().start()
    app.submit(leaky).wait(20)
    for path in app.settings.home.glob("keptstep.db*"):
        assert b"MARK900-" not in path.read_bytes()
    assert "MARK900-" not in caplog.text
