"""The demo does what it says, since it is the first thing anybody sees."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.crash


def test_the_demo_is_killed_resumes_and_repeats_nothing(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, str(root / "demo" / "run.py")],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
        cwd=root,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "killed. Kept so far" in ended.stdout
    assert "not done again" in ended.stdout
    assert "compute_backoff" in ended.stdout, "the report's first extract answers the question"
