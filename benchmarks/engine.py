"""The engine on the main job's shape: workflows of small sequential steps, fully durable."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from keptstep import App, Registry, Run, Settings, tool, workflow
from keptstep.models.events import EventKind

REGISTRY = Registry()


@tool(name="bench.work", artifact_class=2, effect="none", registry=REGISTRY)
def work(wf: str, n: int, size: int) -> str:
    """Return ``size`` characters that differ from step to step."""
    return f"{wf}-{n:012d}".ljust(size, "x")


@workflow(name="bench.chain", registry=REGISTRY)
async def chain(run: Run, wf: str, steps: int, size: int) -> int:
    """Run steps one after the other."""
    for n in range(steps):
        await run.step(f"step:{n}", work, wf=wf, n=n, size=size)
    return steps


@workflow(name="bench.fan", registry=REGISTRY)
async def fan(run: Run, wf: str, steps: int, size: int) -> int:
    """Run steps side by side and join them."""
    wide = [run.step(f"step:{n}", work, wf=wf, n=n, size=size) for n in range(steps)]
    return len(await run.gather(wide))


def open_app(place: Path) -> App:
    """Return a started app on a new home."""
    settings = Settings.load(place / "home", {}, workers=8)
    return App.open(settings=settings, registry=REGISTRY).start()


def chains(place: Path, workflows: int, steps: int, size: int) -> float:
    """Return steps a second of several workflows at once."""
    app = open_app(place)
    try:
        app.submit(chain, wf="warm", steps=2, size=size).result(60)
        begin = time.perf_counter()
        handles = [app.submit(chain, wf=f"w{n}", steps=steps, size=size) for n in range(workflows)]
        for handle in handles:
            handle.result(600)
        return workflows * steps / (time.perf_counter() - begin)
    finally:
        app.close()


def fanned(place: Path, steps: int, size: int) -> float:
    """Return steps a second of one wide join."""
    app = open_app(place)
    try:
        app.submit(chain, wf="warm", steps=2, size=size).result(60)
        begin = time.perf_counter()
        app.submit(fan, wf="f", steps=steps, size=size).result(600)
        return steps / (time.perf_counter() - begin)
    finally:
        app.close()


def pickup(place: Path, times: int) -> float:
    """Return the median milliseconds from a step being ready to its call being started, idle."""
    app = open_app(place)
    try:
        waits = []
        for n in range(times):
            handle = app.submit(chain, wf=f"p{n}", steps=1, size=20)
            handle.result(60)
            at = {event.kind: event.at for event in app.store.events(handle.id)}
            waits.append(at[EventKind.TOOL_CALL_STARTED] - at[EventKind.STEP_PLANNED])
            time.sleep(0.3)  # idle again: what a worker does after a pause is the question
        return statistics.median(waits) * 1000
    finally:
        app.close()
