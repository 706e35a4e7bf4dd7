"""``python -m benchmarks.doorbell``: what sharing steps through Redis costs and brings.

Starts a redis-server of its own on a free port. Prints, for the queue in memory and the one
through Redis: the time from a ring to the start of the step in an idle process, and the steps a
second of one task with 1 and with 3 worker processes, for a tool that does nothing and one that
waits 20 ms. Absolute figures move from machine to machine: compare those of one run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from keptstep import App, Registry, Run, Settings, tool, workflow
from keptstep.models.ids import StepId, WorkerId
from keptstep.workers.broker import StepQueue

REGISTRY = Registry()


@tool(name="bench.wait", effect="none", registry=REGISTRY)
def wait(n: int, seconds: float) -> int:
    """Wait, or do nothing at all."""
    if seconds:
        time.sleep(seconds)
    return n


@workflow(name="bench.wide", registry=REGISTRY)
async def wide(run: Run, count: int, seconds: float) -> int:
    """Run steps side by side."""
    steps = [run.step(f"step:{n}", wait, n=n, seconds=seconds) for n in range(count)]
    return len(await run.gather(steps))


def queue_of(place: Path, url: str, run: threading.Event) -> StepQueue:
    """Return a queue whose steps only set an event."""
    settings = Settings.load(place, {}, redis_url=url)

    def started(_step_id: StepId) -> None:
        run.set()

    if not url:
        return StepQueue(settings.workers, started)
    from keptstep.workers.lease_broker.doorbell import Ears, fit_server, redis_queue

    ears = Ears(lambda: ["read"], started, lambda _: None, lambda: None)
    return redis_queue(fit_server(settings, time.time), settings, WorkerId("bench"), ears)


def latency(place: Path, url: str, times: int) -> list[float]:
    """Return the milliseconds from each ring to the start, in an idle process."""
    run = threading.Event()
    queue = queue_of(place, url, run)
    queue.start()
    time.sleep(1.0)
    found = []
    for _ in range(times):
        run.clear()
        begun = time.perf_counter()
        queue.ring(StepId(os.urandom(16)), "read")
        run.wait(10)
        found.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.03)
    queue.stop(1.0)
    return sorted(found)


def rate(place: Path, url: str, processes: int, count: int, seconds: float) -> float:
    """Return steps a second of one task; the first of the processes is this one."""
    settings = Settings.load(place, {}, redis_url=url)
    app = App.open(settings=settings, registry=REGISTRY)
    command = [sys.executable, "-m", "benchmarks.doorbell", "--work", str(place), "--url", url]
    others = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(processes - 1)]  # noqa: S603
    app.start()
    try:
        app.submit(wide, count=20 * processes, seconds=0.02).result(60)
        time.sleep(1.0 if others else 0.0)
        begun = time.perf_counter()
        app.submit(wide, count=count, seconds=seconds).result(600)
        return count / (time.perf_counter() - begun)
    finally:
        for other in others:
            other.communicate()
        app.close()


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a redis-server; yields its URL."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    quiet = subprocess.DEVNULL
    running = subprocess.Popen([*command, "--save", ""], stdout=quiet, stderr=quiet)  # noqa: S603
    try:
        time.sleep(0.5)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        running.terminate()
        running.wait()


def main() -> None:
    """Measure and print, or work as one of several processes until stdin ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path.cwd(), help="where to write: the disk")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        settings = Settings.load(given.work, {}, redis_url=given.url)
        with App.open(settings=settings, registry=REGISTRY):
            sys.stdin.read()
        return
    scratch = tempfile.TemporaryDirectory(dir=given.dir, prefix="keptstep-bench-")
    with scratch as folder, server(Path(folder)) as url:
        figures({"in memory": "", "through Redis": url}, Path(folder), given.rounds)


def figures(queues: dict[str, str], folder: Path, rounds: int) -> None:
    """Print the figures of each queue; rounds take turns, since machines have moods."""
    for name, url in queues.items():
        waits = latency(folder, url, 100)
        print(f"ring to start, {name}: median {median(waits):.2f} ms, p90 {waits[89]:.2f} ms")
    for label, seconds in (("nothing", 0.0), ("20 ms", 0.02)):
        for processes in (1, 3):
            found: dict[str, list[float]] = {name: [] for name in queues}
            for _ in range(rounds):
                for name, url in queues.items():
                    with tempfile.TemporaryDirectory(dir=folder) as place:
                        found[name].append(rate(Path(place), url, processes, 1000, seconds))
            for name, rates in found.items():
                print(f"{label}, {processes} processes, {name}: {median(rates):.0f} steps/s")


if __name__ == "__main__":
    main()
