"""Many processes on one new home: one makes the schema, all find it."""

import subprocess
import sys
from pathlib import Path

import pytest

OPENING = """
import sys
from keptstep import App
sys.stdin.readline()
app = App.open(sys.argv[1])
app.store.tasks()
app.close()
"""


@pytest.mark.slow
def test_eight_processes_that_start_at_once_on_a_new_home_all_open_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPENING, str(tmp_path / "home")]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=50)[1] for process in started]
    assert [process.returncode for process in started] == [0] * 8, told
