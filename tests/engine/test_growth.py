"""A long workflow does not slow down as it goes: counted in the database's own instructions."""

from collections.abc import Callable

import pytest
from sqlalchemy import event

from keptstep import App, Registry, Run, tool, workflow

STEPS, WINDOW = 1200, 200


@pytest.mark.slow
def test_the_thousandth_step_costs_the_database_what_the_hundredth_did(
    open_app: Callable[..., App], registry: Registry
) -> None:
    work = [0]
    at: list[int] = []

    @tool(registry=registry, effect="none")
    def one(n: int) -> int:
        return n

    @workflow(registry=registry)
    async def long(run: Run, steps: int) -> int:
        for n in range(steps):
            await run.step(f"n:{n}", one, n=n)
            at.append(work[0])
        return steps

    def count_instructions(connection: object, _record: object) -> None:
        def instructions() -> int:
            work[0] += 1
            return 0

        connection.set_progress_handler(instructions, 20)  # type: ignore[attr-defined]

    app = open_app(sweep=3600, lease=3600, park_after=3600)
    for engine in (app.store._committer._engine, app.store._readers):  # type: ignore[attr-defined]
        event.listen(engine, "connect", count_instructions)
    app.start()
    assert app.submit(long, steps=STEPS).result(55).value == STEPS
    early = at[2 * WINDOW] - at[WINDOW]
    late = at[-1] - at[-1 - WINDOW]
    assert early > WINDOW, "the counter counts"
    # A B-tree grows a level; twice the work would be a scan over what is done.
    assert late < 1.5 * early, (early, late)
