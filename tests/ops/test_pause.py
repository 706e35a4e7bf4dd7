"""pause and unpause, as a person at the terminal sees them."""

from __future__ import annotations

from collections.abc import Callable

from keptstep.app import App
from keptstep.models.ids import TaskId
from tests.ops.conftest import Command

SIGNED = ("--by", "kim", "--why", "the site is down")


def test_a_paused_task_stands_still_until_it_is_let_go_on(
    inside: Command, process: Command, submitted: Callable[..., str]
) -> None:
    task = submitted("demo.fail", text="boom")
    paused = inside("pause", task, *SIGNED)
    assert paused.code == 0
    assert "is paused" in paused.out
    stopped = process("resume", task)
    assert (stopped.code, stopped.out) == (4, "")
    assert "it is paused: keptstep unpause lets it go on" in stopped.err
    assert "it is paused" in inside("explain", task).out
    assert f"keptstep unpause {task[-8:]}" in inside("show", task).out
    assert inside("show", task, "--json").document["paused_at"] is not None
    again = inside("pause", task, *SIGNED)
    assert (again.code, "paused already" in again.err) == (2, True)
    assert inside("unpause", task, *SIGNED).code == 0
    assert process("resume", task).code == 1  # it went on, to the failure that waits for it
    kinds = [event["kind"] for event in inside("events", task, "--json").document]
    assert kinds[1:3] == ["task_paused", "task_unpaused"]


def test_only_a_paused_task_is_unpaused(
    inside: Command, opened: App, submitted: Callable[..., str]
) -> None:
    task = submitted("demo.fail", text="boom")
    before = opened.store.task(TaskId(bytes.fromhex(task)))
    ran = inside("unpause", task, *SIGNED)
    assert (ran.code, "is not paused" in ran.err) == (2, True)
    assert opened.store.task(before.id) == before
