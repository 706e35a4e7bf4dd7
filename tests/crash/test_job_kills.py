"""kill -9 at every boundary of the step protocol, then resume: nothing done is done again."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from keptstep import App, Settings
from keptstep.models.points import POINTS
from keptstep.models.states import StepStatus
from tests.crash.job import SOURCES

pytestmark = pytest.mark.crash

RESULT = f"DONE total {len('source 0 ') * 100 * SOURCES}"


def run(
    home: Path, counts: Path, kill: str = "", mutant: str = "", act: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the job in a process of its own."""
    command = [sys.executable, "-m", "tests.crash.job", str(home), str(counts), kill, mutant, act]
    root = Path(__file__).parents[2]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=50, check=False, cwd=root
    )


def calls(counts: Path) -> Counter[str]:
    """Return how often each tool was called so far."""
    return Counter(counts.read_text().split()) if counts.exists() else Counter()


def finished(home: Path) -> set[str]:
    """Return the names of the steps that are done."""
    if not (home / "keptstep.db").exists():
        return set()
    app = App.open(settings=Settings.load(home, {}))
    try:
        steps = [step for task in app.store.tasks() for step in app.store.steps(task.id)]
        return {step.name for step in steps if step.status is StepStatus.DONE}
    finally:
        app.close()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 3])
def test_killed_at_a_boundary_the_job_resumes_and_repeats_no_finished_step(
    tmp_path: Path, point: str, nth: int
) -> None:
    home, counts = tmp_path / "home", tmp_path / "counts"
    killed = run(home, counts, f"{point}:{nth}")
    if nth == 1:
        assert killed.returncode == -signal.SIGKILL, (point, killed.stdout, killed.stderr)
    done, before = finished(home), calls(counts)
    resumed = run(home, counts)
    assert resumed.stdout.strip() == RESULT, resumed.stderr
    after = calls(counts)
    assert {name for name in done if after[name] != before[name]} == set()
    assert set(after) == {"find", *(f"{k}:{n}" for k in ("read", "note") for n in range(SOURCES))}


@pytest.mark.parametrize("point", [p for p in POINTS if p.startswith(("call", "keep", "mark"))])
def test_a_side_effect_is_never_called_twice_wherever_the_process_dies(
    tmp_path: Path, point: str
) -> None:
    home, counts = tmp_path / "home", tmp_path / "counts"
    # Eleven steps come before it, so that the twelfth reach is the side effect's own; of marks,
    # which reads have none of, it is the sixth.
    nth = SOURCES + 1 if point.startswith("mark") else 2 * SOURCES + 2
    killed = run(home, counts, f"{point}:{nth}", act="act")
    resumed = run(home, counts, act="act")
    assert calls(counts)["send"] <= 1
    if killed.returncode == -signal.SIGKILL:
        assert resumed.stdout.strip() in ("OPEN", f"DONE sent {900 * SOURCES}"), resumed.stderr
    if point == "mark.committed":
        assert resumed.stdout.startswith("DONE sent"), "its payload was kept: it rolls forward"


def test_without_the_claim_s_condition_the_check_fails(tmp_path: Path) -> None:
    home, counts = tmp_path / "home", tmp_path / "counts"
    run(home, counts, "finish.committed:6")
    done, before = finished(home), calls(counts)
    assert done
    run(home, counts, mutant="done-runs-again")
    after = calls(counts)
    assert {name for name in done if after[name] != before[name]} != set()


def test_if_an_unpaired_start_were_run_again_the_check_fails(tmp_path: Path) -> None:
    home, counts = tmp_path / "home", tmp_path / "counts"
    nth = 2 * SOURCES + 2
    killed = run(home, counts, f"call.returned:{nth}", act="act")
    assert killed.returncode == -signal.SIGKILL
    run(home, counts, mutant="uncertain-runs-again", act="act")
    assert calls(counts)["send"] == 2


def test_killed_again_and_again_at_moments_of_chance_it_still_ends_once(tmp_path: Path) -> None:
    import random

    seed = int(os.environ.get("KEPTSTEP_TEST_SEED", "20261130"))
    chance = random.Random(seed)
    home, counts = tmp_path / "home", tmp_path / "counts"
    for _ in range(8):
        point = chance.choice(POINTS)
        run(home, counts, f"{point}:{chance.randint(1, 9)}")
        done, before = finished(home), calls(counts)
        resumed = run(home, counts, f"{chance.choice(POINTS)}:{chance.randint(1, 9)}")
        after = calls(counts)
        assert {n for n in done if after[n] != before[n]} == set(), (seed, resumed.stderr)
    assert run(home, counts).stdout.strip() == RESULT
