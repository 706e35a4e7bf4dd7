"""All writers share one committing thread: counted where it counts, in syncs of the log file."""

import sys
from pathlib import Path

import pytest

from keptstep.testing.synctrace import count_syncs, missing_syncs, trace
from tests.crash.test_sync_order import _strace  # noqa: F401 - skips where nothing is traced

pytestmark = pytest.mark.crash

STEPS = 104
#: Runs WORKFLOWS chains of steps at once, and tells the world of each finished one.
SCRIPT = """
import os, sys
from keptstep import App, Run, Settings, tool, workflow
from keptstep.models import points

told = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)

@tool(effect="none")
def work(n: int) -> str:
    return f"{n:0200d}"

@workflow
async def chain(run: Run, steps: int) -> int:
    for n in range(steps):
        await run.step(f"s:{n}", work, n=n)
    return steps

many, steps = int(sys.argv[3]), int(sys.argv[4])
with App.open(settings=Settings.load(sys.argv[1], {}, sweep=60, lease=600)) as app:
    app.submit(chain, steps=1).result(60)
    points.listen(lambda name: name == "show" and os.write(told, b"!"))
    for handle in [app.submit(chain, steps=steps) for _ in range(many)]:
        handle.result(60)
    points.listen(None)
"""


def run(tmp_path: Path, many: int) -> tuple[int, list[str]]:
    """Return how often the write-ahead log was synced, and what was shown before it was safe."""
    script, told = tmp_path / "script.py", tmp_path / "told"
    script.write_text(SCRIPT)
    home = tmp_path / f"home-{many}"
    command = [sys.executable, str(script), str(home), str(told), str(many), str(STEPS // many)]
    calls = trace(command)
    # The shared index of the log and the workers' locks are made anew after a power cut.
    passing = ("-shm", ".lock", "/workers")
    unsafe = [one for one in missing_syncs(calls, home, "told") if not one.endswith(passing)]
    return count_syncs(calls, "keptstep.db-wal"), unsafe


@pytest.mark.timeout(120)
def test_eight_at_once_share_the_syncs_that_one_alone_pays_for(tmp_path: Path) -> None:
    alone, unsafe = run(tmp_path, 1)
    eight, _ = run(tmp_path, 8)
    assert unsafe == [], "file, folder and log were synced before each result was shown"
    assert alone >= 3 * STEPS, "one alone: plan, claim and finish are a sync each"
    assert eight <= alone / 2, f"{eight} syncs for {STEPS} steps, {alone} alone"
