"""Crash tests: a tool or workflow is killed at every boundary and has to keep the promise.

    report = crash_test("my_module:send_mail", {"to": "me@example.org"})
    assert report.held, report.broken

A process of its own runs the target and is killed (SIGKILL) at each named point of the step
protocol, and, where ``strace`` is there, at system calls that change or sync a file of the home.
A fresh process recovers. What was on record at the death, how often the tool was called and what
recovery made of it are judged by the rules in ``CHECKED``; ``docs/guarantees.md`` explains them.
"""

from keptstep.testing.crash.harness import CrashTest
from keptstep.testing.crash.processes import DidNotEnd, Failed
from keptstep.testing.crash.records import Boundary, Kind, Report, StepTrial, Subject, Trial
from keptstep.testing.crash.rules import CHECKED, NOT_SEEN
from keptstep.testing.crash.runs import crash_test, run_all
from keptstep.testing.crash.syscalls import Aim

__all__ = [
    "CHECKED",
    "NOT_SEEN",
    "Aim",
    "Boundary",
    "CrashTest",
    "DidNotEnd",
    "Failed",
    "Kind",
    "Report",
    "StepTrial",
    "Subject",
    "Trial",
    "crash_test",
    "run_all",
]
