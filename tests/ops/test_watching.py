"""A task seen through its events: what is told, and what runs just now."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from keptstep.models.events import Event, EventKind
from keptstep.models.ids import StepId, TaskId
from keptstep.models.states import StepStatus
from keptstep.ops.progress import LiveProgress, Plain, Silent, progress_on
from keptstep.ops.watching import Line, Mark, TaskView
from keptstep.testing.builders import a_step

K = EventKind
ONE = StepId(b"1" * 16)
TASK = TaskId(bytes(15) + b"\x2a")


class Log:
    """Writes events one after the other and lets a view take them."""

    def __init__(self) -> None:
        self.view = TaskView(TASK, 0, [])
        self.seq = 0

    def add(
        self, kind: EventKind, at: float, step: StepId | None = ONE, **data: Any
    ) -> Line | None:
        self.seq += 1
        return self.view.take(Event(TASK, self.seq, at, kind, step, 1, data))


@pytest.fixture
def log() -> Log:
    """Return a log with one planned step."""
    log = Log()
    assert log.add(K.STEP_PLANNED, 0.0, name="fetch") is None
    return log


def told(line: Line | None) -> tuple[Mark, str, str]:
    assert line is not None
    return line.mark, line.subject, line.text


def test_a_try_is_told_at_its_start_and_its_end(log: Log) -> None:
    assert told(log.add(K.TOOL_CALL_STARTED, 10.0, attempt=1)) == (
        Mark.STARTED,
        "fetch",
        "started",
    )
    assert [step.name for step in log.view.running()] == ["fetch"]
    assert log.add(K.PAYLOAD_PERSISTED, 11.0) is None
    assert told(log.add(K.TOOL_RESULT_PERSISTED, 12.5)) == (Mark.DONE, "fetch", "done in 2.5 s")
    assert log.view.running() == []
    assert log.view.count(StepStatus.DONE) == 1
    assert log.view.seq == 4


def test_a_failed_try_tells_when_the_next_one_is(log: Log) -> None:
    log.add(K.TOOL_CALL_STARTED, 10.0, attempt=1)
    line = log.add(K.STEP_RETRY, 11.0, due_at=15.0, reason="the call raised", error="OSError")
    assert told(line) == (Mark.WARNING, "fetch", "failed, again in 4 s: the call raised (OSError)")
    assert [step.name for step in log.view.delayed(12.0)] == ["fetch"]
    assert log.view.delayed(15.0) == []
    assert told(log.add(K.TOOL_CALL_STARTED, 15.0, attempt=2))[2] == "started again, try 2"
    assert log.view.delayed(12.0) == []


@pytest.mark.parametrize(
    ("kind", "data", "status", "text"),
    [
        (K.STEP_FAILED, {"reason": "no", "error": "E"}, "failed", "failed for good: no (E)"),
        (K.STEP_UNCERTAIN, {"reason": "who knows"}, "uncertain", "uncertain: who knows"),
        (K.STEP_RELEASED, {}, "ready", "given back, not counted as a try"),
        (K.STEP_RECLAIMED, {"reason": "w died"}, "ready", "taken back: w died"),
        (K.STEP_REQUEUED, {"by": "me", "why": "so"}, "ready", "set going again: by me: so"),
        (K.STEP_CANCELLED, {"reason": "not needed"}, "cancelled", "cancelled: not needed"),
    ],
)
def test_every_end_of_a_try_is_told(
    log: Log, kind: EventKind, data: dict[str, Any], status: str, text: str
) -> None:
    log.add(K.TOOL_CALL_STARTED, 10.0, attempt=1)
    assert told(log.add(kind, 11.0, **data))[1:] == ("fetch", text)
    assert log.view.running() == []
    assert log.view.count(StepStatus(status)) == 1


def test_a_roll_forward_says_so(log: Log) -> None:
    log.add(K.TOOL_CALL_STARTED, 10.0, attempt=1)
    line = log.add(K.TOOL_RESULT_PERSISTED, 11.0, rolled_forward=True)
    assert told(line)[2] == "done, with what a dead worker had kept"


def test_a_task_is_told_without_a_subject(log: Log) -> None:
    assert log.add(K.ADVANCE_STARTED, 1.0, None) is None
    assert told(log.add(K.TASK_DONE, 2.0, None)) == (Mark.DONE, "", "done")
    assert told(log.add(K.TASK_BLOCKED, 3.0, None, reason="changed")) == (
        Mark.BAD,
        "",
        "blocked: changed",
    )


def test_steps_known_before_are_counted_once() -> None:
    step = a_step(StepStatus.RUNNING, id=ONE, started_at=5.0)
    view = TaskView(TASK, 7, [step])
    view.take(Event(TASK, 8, 9.0, K.TOOL_RESULT_PERSISTED, ONE, 1, {}))
    assert view.count(*StepStatus) == 1
    assert view.count(StepStatus.DONE) == 1


def console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, force_terminal=terminal, width=60, color_system=None), text


def test_plain_progress_is_a_line_with_the_time_of_day(log: Log) -> None:
    to, text = console(terminal=False)
    line = Line(0.0, Mark.BAD, "fetch", "failed: \x1b[31m [bold]x[/bold]")
    plain = Plain(to, several=False)
    plain.tell(log.view, line)
    plain.tell(log.view, Line(0.0, Mark.DONE, "", "done"))
    plain.refresh([log.view], 1.0)
    plain.close()
    first, second = text.getvalue().splitlines()
    assert first[8:] == " step fetch failed: \\x1b[31m [bold]x[/bold]"
    assert second[8:] == " task 0000002a done"


def test_with_several_tasks_a_line_says_which(log: Log) -> None:
    to, text = console(terminal=False)
    Plain(to, several=True).tell(log.view, Line(0.0, Mark.DONE, "fetch", "done"))
    assert text.getvalue().endswith(" 0000002a step fetch done\n")


def test_live_progress_shows_what_runs_and_leaves_the_news(log: Log) -> None:
    to, text = console(terminal=True)
    log.add(K.TOOL_CALL_STARTED, 10.0, attempt=2)
    live = LiveProgress(to, several=False)
    live.refresh([log.view], 14.0)
    assert "fetch 4 s, try 2" in text.getvalue()
    assert "0 of 1 steps so far, 0 s" in text.getvalue()
    line = log.add(K.TOOL_RESULT_PERSISTED, 15.0)
    assert line is not None
    live.tell(log.view, line)
    live.refresh([log.view], 16.0)
    live.close()
    assert "fetch done in 5.0 s" in text.getvalue().replace("5 s", "5.0 s")


def test_live_progress_never_grows_over_the_screen() -> None:
    steps = [
        a_step(StepStatus.RUNNING, id=StepId(bytes([number]) * 16), name=f"s{number}")
        for number in range(40)
    ]
    to, text = console(terminal=True)
    live = LiveProgress(to, several=True)
    live.refresh([TaskView(TASK, 0, steps)], 1.0)
    live.close()
    assert "and 33 more" in text.getvalue()
    assert "s30" not in text.getvalue()


def test_the_progress_fits_its_stream() -> None:
    terminal, pipe = console(terminal=True)[0], console(terminal=False)[0]
    assert isinstance(progress_on(pipe, silent=False, several=False), Plain)
    assert isinstance(progress_on(pipe, silent=True, several=False), Silent)
    live = progress_on(terminal, silent=False, several=False)
    assert isinstance(live, LiveProgress)
    live.close()
