"""Kill points end the process where they are told to, and traces name what was reached."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keptstep.models import points
from keptstep.models.errors import BadInput
from keptstep.testing import killpoints

KILLED = -9
REACHES = """
import sys
from keptstep.models import points
from keptstep.testing.killpoints import kill_at
kill_at(sys.argv[1], int(sys.argv[2]))
for name in sys.argv[3:]:
    print(name, flush=True)
    points.reach(name)
"""


@pytest.fixture(autouse=True)
def _no_listener_stays() -> Iterator[None]:
    yield
    points.listen(None)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", REACHES, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_process_is_killed_at_the_point_and_no_further() -> None:
    done = run("keep.renamed", "1", "keep.temporary", "keep.renamed", "keep.kept")
    assert done.returncode == KILLED
    assert done.stdout.split() == ["keep.temporary", "keep.renamed"]


def test_the_process_is_killed_at_the_nth_reach() -> None:
    done = run("show", "3", "show", "show", "submit.before", "show", "show")
    assert done.returncode == KILLED
    assert done.stdout.split() == ["show", "show", "submit.before", "show"]


def test_a_process_that_never_reaches_the_point_lives() -> None:
    done = run("show", "2", "show", "keep.kept")
    assert (done.returncode, done.stdout.split()) == (0, ["show", "keep.kept"])


def test_points_that_do_not_exist_are_refused() -> None:
    with pytest.raises(BadInput, match=r"no point is called 'keep\.kopt'.*keep\.kept"):
        killpoints.kill_at("keep.kopt")
    with pytest.raises(BadInput, match="at 1, not 0"):
        killpoints.kill_at("keep.kept", 0)


def test_each_reached_point_is_a_line_of_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "points"
    for _process in range(2):
        killpoints.trace_points(path)
        points.reach("claim.before")
        points.reach("claim.committed")
    assert path.read_text().split() == ["claim.before", "claim.committed"] * 2


@pytest.mark.parametrize(
    "arguments",
    [[], ["show"], ["show", "run"], ["show:x", "--"], ["show:0", "--"], ["nowhere", "--", "run"]],
)
def test_wrong_arguments_are_explained(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="usage: "):
        killpoints.main(arguments)


def test_the_command_line_runs_keptstep_with_the_point_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def run_module(name: str, **how: object) -> None:
        seen.append((name, how["run_name"], sys.argv[1:], points._listener is not None))

    monkeypatch.setattr("runpy.run_module", run_module)
    monkeypatch.setattr(sys, "argv", ["before"])
    killpoints.main(["keep.kept:2", "--", "run", "--json"])
    assert seen == [("keptstep", "__main__", ["run", "--json"], True)]
