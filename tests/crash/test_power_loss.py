"""What a power cut could take: nothing that a commit names, nothing that was shown."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from keptstep.testing.synctrace import Call, missing_syncs, trace, until
from tests.crash.test_sync_order import _strace  # noqa: F401 - skips where nothing is traced

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

LOG = "keptstep.db-wal"
#: One step after the other, so that each commit stands alone; the world is told at each show.
SCRIPT = """
import os, sys
from keptstep import App, Settings
from keptstep.models import points
from tests.crash.row import row

told = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
with App.open(settings=Settings.load(sys.argv[1], {}, sweep=60, lease=600)) as app:
    points.listen(lambda name: name == "show" and os.write(told, b"!"))
    app.submit(row, effect=sys.argv[3]).result(60)
    points.listen(None)
"""


def traced(tmp_path: Path, effect: str, mutant: str = "") -> list[Call]:
    """Run the four steps and return their system calls."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "home"), str(tmp_path / "told")]
    env = os.environ | {"CRASH_MUTANT": mutant}
    return trace([*command, effect], env=env, cwd=Path(__file__).parents[2])


def lasting(found: Iterable[str]) -> list[str]:
    """Leave out what is made anew after a power cut: the log's index, the workers' locks."""
    return [one for one in found if not one.endswith(("-shm", ".lock", "/workers", ".starting"))]


@pytest.mark.parametrize("effect", ["none", "side effect"])
def test_a_file_and_its_name_are_synced_before_any_commit_after_them(
    tmp_path: Path, effect: str
) -> None:
    calls = traced(tmp_path, effect)
    assert sum(call.name.startswith("rename") and "/blobs/" in call.target for call in calls) >= 4
    assert missing_syncs(calls, tmp_path / "home" / "blobs", told=LOG) == []


def test_the_log_is_synced_before_anybody_is_told(tmp_path: Path) -> None:
    calls = traced(tmp_path, "none")
    assert until(calls, "/told")
    assert lasting(missing_syncs(calls, tmp_path / "home", told="/told")) == []


def test_a_name_that_is_not_synced_is_noticed_at_the_next_commit(tmp_path: Path) -> None:
    calls = traced(tmp_path, "none", "name-not-synced")
    found = missing_syncs(calls, tmp_path / "home" / "blobs", told=LOG)
    assert {one.partition(":")[0] for one in found} == {"name not synced"}


def test_a_log_that_is_not_synced_is_noticed_when_somebody_is_told(tmp_path: Path) -> None:
    calls = traced(tmp_path, "none", "log-not-synced")
    found = lasting(missing_syncs(calls, tmp_path / "home", told="/told"))
    assert f"bytes not synced: {tmp_path / 'home' / LOG}" in found


def test_the_log_is_synced_before_a_report_is_printed(tmp_path: Path) -> None:
    source = tmp_path / "source.md"
    source.write_text("The lamp of room 7 is repaired by turning it 7 times.")
    command = [sys.executable, "-m", "keptstep", "research", "How is the lamp repaired?"]
    command += ["--source", str(source), "--home", str(tmp_path / "home")]
    calls = trace(command, cwd=Path(__file__).parents[2])
    printed = [call for call in calls if call.name == "write" and call.path == "/dev/null"]
    assert printed, "it goes to stdout"
    assert lasting(missing_syncs(calls, tmp_path / "home", told="/dev/null")) == []
