"""resume: one task or all, reopened ones, unknown ones; and requeue for dead letters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keptstep import App
from keptstep.models.ids import TaskId
from tests.ops.conftest import Command

pytestmark = pytest.mark.slow

Task = Callable[..., str]


def test_a_task_is_worked_on_and_its_result_printed(inside: Command, submitted: Task) -> None:
    task = submitted("demo.say", text="hello")
    ran = inside("resume", task[-8:])
    assert (ran.code, ran.out) == (0, "hello\n")
    assert "step say done in " in ran.err


def test_a_finished_task_prints_its_result_again(inside: Command, ended: Task) -> None:
    ran = inside("resume", ended("demo.say", text="hello"))
    assert (ran.code, ran.out, ran.err) == (0, "hello\n", "")


def test_a_json_result_is_laid_out(inside: Command, ended: Task) -> None:
    assert inside("resume", ended("demo.wide", count=3)).out == "3\n"


def test_a_result_that_is_no_text_is_named(inside: Command, ended: Task) -> None:
    ran = inside("resume", ended("demo.give", count=3))
    assert (ran.code, ran.out) == (0, "")
    assert "application/octet-stream, 6 B: keptstep read" in ran.err


def test_all_unfinished_tasks_are_worked_on(inside: Command, submitted: Task) -> None:
    tasks = [submitted("demo.say", text=str(number)) for number in range(3)]
    ran = inside("resume", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert {(task["id"], task["status"]) for task in ran.document} == {
        (task, "done") for task in tasks
    }
    nothing = inside("resume")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == "nothing to do: every task is finished\n"
    assert inside("resume", "--json").document == []


def test_the_worst_end_of_all_decides_the_code(
    inside: Command, submitted: Task, tmp_path: Path
) -> None:
    submitted("demo.say", text="good")
    bad = submitted("demo.fail", text=str(tmp_path / "none"))
    ran = inside("resume")
    assert ran.code == 1
    assert f"{bad[-8:]}  failed  step fail failed" in ran.out
    assert "keptstep show ID" in ran.err


def test_others_tasks_are_left_alone(
    inside: Command, submitted: Task, opened: App, gate: Path
) -> None:
    other, mine = submitted("demo.pay", gate=str(gate)), submitted("demo.say", text="mine")
    assert inside("resume", mine).code == 0
    assert opened.store.task(TaskId(bytes.fromhex(other))).token == 0


def test_a_failed_task_ends_with_1_and_an_operator_sets_its_step_going_again(
    inside: Command, ended: Task, step_named: Callable[[str, str], str], tmp_path: Path
) -> None:
    mended = tmp_path / "mended"
    task = ended("demo.fail", text=str(mended))
    failed = inside("resume", task)
    assert (failed.code, failed.out) == (1, "")
    assert f"ValueError: {mended}" in failed.err
    mended.touch()
    step = step_named(task, "fail")
    requeued = inside("retry", step[-8:], "--by", "me", "--why", "the file is there")
    assert (requeued.code, "is ready now" in requeued.out) == (0, True)
    assert inside("resume", task).out == "mended\n"
    (event,) = (
        event
        for event in inside("events", task, "--json").document
        if event["kind"] == "step_requeued"
    )
    assert event["data"] == {"by": "me", "why": "the file is there"}


def test_only_a_failed_step_can_be_requeued(
    inside: Command, ended: Task, step_named: Callable[[str, str], str]
) -> None:
    step = step_named(ended("demo.say", text="hello"), "say")
    ran = inside("retry", step, "--by", "me", "--why", "no reason", "--json")
    assert (ran.code, ran.out, ran.error["kind"]) == (2, "", "IllegalMove")


@pytest.fixture
def blocked(inside: Command, opened: App, tmp_path: Path, gate: Path) -> tuple[str, Path]:
    """Return a task that is blocked by a plan difference, and the file that mends it."""
    file = tmp_path / "input"
    file.write_text("as planned")
    task = opened.submit("demo.change", file=str(file), gate=str(gate)).id
    opened.start()
    assert gate.read_text() == "begun"
    opened._worker.stop(0.1)  # type: ignore[union-attr] # the app's stores stay open
    opened._worker = None
    file.write_text("changed")
    Path(f"{gate}.go").touch()
    assert inside("resume", task.hex()).code == 4
    return task.hex(), file


def test_a_blocked_task_says_why_and_how_to_go_on(
    inside: Command, blocked: tuple[str, Path]
) -> None:
    task, _ = blocked
    ran = inside("resume", task)
    assert (ran.code, ran.out) == (4, "")
    assert f"blocked: task {task[-8:]}: step say was planned before" in ran.err
    assert '- "text": "as planned"; + "text": "changed"' in ran.err
    assert f"keptstep resume {task[-8:]} --again --by NAME --why TEXT" in ran.err
    assert inside("resume").code == 4
    assert inside("resume", task, "--json").error["kind"] == "TaskBlocked"


def test_a_blocked_task_goes_again_when_a_person_says_so(
    inside: Command, blocked: tuple[str, Path]
) -> None:
    task, file = blocked
    file.write_text("as planned")
    ran = inside("resume", task, "--again", "--by", "me", "--why", "the input is back")
    assert (ran.code, ran.out) == (0, "went\n")
    kinds = [event["kind"] for event in inside("events", task, "--json").document]
    assert kinds.count("task_reopened") == 1


def test_there_is_nothing_to_reopen_about_a_done_task(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    ran = inside("resume", task, "--again", "--by", "me", "--why", "again", "--json")
    assert (ran.code, ran.error["kind"]) == (2, "IllegalMove")


@pytest.mark.slow
def test_a_workflow_nobody_knows_stands_still(process: Command, submitted: Task) -> None:
    task = submitted("demo.say", text="hello")
    ran = process("resume", task, KEPTSTEP_IMPORT="")
    assert (ran.code, ran.out) == (4, "")
    assert "its workflow demo.say is not known here" in ran.err
    assert "not known here" in process("explain", task, KEPTSTEP_IMPORT="").out


@pytest.mark.slow
def test_a_module_may_stand_in_the_current_folder(
    process: Command, opened: App, submitted: Task, tmp_path: Path
) -> None:
    (tmp_path / "own_tools.py").write_text(
        "from tests.ops.demo import saying\n\nassert saying.name == 'demo.say'\n"
    )
    task = submitted("demo.say", text="hello")
    ran = process("resume", task, "--import", "own_tools", KEPTSTEP_IMPORT="")
    assert (ran.code, ran.out) == (0, "hello\n")
