"""The statuses and every move between them."""

from __future__ import annotations

from itertools import product

import pytest

from keptstep.models.errors import IllegalMove
from keptstep.models.states import (
    STEP_FINAL,
    STEP_FINISHED,
    STEP_MOVES,
    STEP_UNFINISHED,
    TASK_FINAL,
    TASK_FINISHED,
    TASK_MOVES,
    TASK_UNFINISHED,
    StepStatus,
    TaskStatus,
    move_step,
    move_task,
)

# Written out a second time on purpose: a change of the table has to be meant.
STEP_ARROWS = """
    pending -> ready waiting cancelled
    ready -> running failed cancelled
    running -> ready waiting done failed uncertain cancelled
    waiting -> ready done failed cancelled
    uncertain -> ready done failed
    failed -> ready
    done ->
    cancelled ->
"""
TASK_ARROWS = """
    ready -> running failed cancelled
    running -> ready waiting blocked done failed cancelled
    waiting -> ready cancelled
    blocked -> ready cancelled
    failed -> ready
    done ->
    cancelled ->
"""


def arrows(text: str) -> set[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for line in text.strip().splitlines():
        start, _, ends = line.partition("->")
        pairs |= {(start.strip(), end) for end in ends.split()}
    return pairs


@pytest.mark.parametrize(("start", "end"), [*product(StepStatus, StepStatus)])
def test_a_step_makes_the_moves_of_the_table_and_no_other(
    start: StepStatus, end: StepStatus
) -> None:
    if (start, end) in arrows(STEP_ARROWS):
        assert move_step(start, end) is end
    else:
        with pytest.raises(IllegalMove, match=f"from {start} to {end}"):
            move_step(start, end)


@pytest.mark.parametrize(("start", "end"), [*product(TaskStatus, TaskStatus)])
def test_a_task_makes_the_moves_of_the_table_and_no_other(
    start: TaskStatus, end: TaskStatus
) -> None:
    if (start, end) in arrows(TASK_ARROWS):
        assert move_task(start, end) is end
    else:
        with pytest.raises(IllegalMove, match=f"from {start} to {end}"):
            move_task(start, end)


def test_every_status_has_its_row() -> None:
    assert set(STEP_MOVES) == set(StepStatus)
    assert set(TASK_MOVES) == set(TaskStatus)


def test_what_nobody_leaves_is_derived_from_the_table() -> None:
    assert {s for s in StepStatus if not STEP_MOVES[s]} == STEP_FINAL == {"done", "cancelled"}
    assert {s for s in TaskStatus if not TASK_MOVES[s]} == TASK_FINAL == {"done", "cancelled"}


def test_finished_and_unfinished_share_nothing_and_leave_nothing_out() -> None:
    assert set(StepStatus) == STEP_FINISHED | STEP_UNFINISHED
    assert not STEP_FINISHED & STEP_UNFINISHED
    assert set(TaskStatus) == TASK_FINISHED | TASK_UNFINISHED
    assert not TASK_FINISHED & TASK_UNFINISHED


def test_what_is_final_is_finished() -> None:
    assert STEP_FINAL < STEP_FINISHED == {"done", "failed", "cancelled"}
    assert TASK_FINAL < TASK_FINISHED == {"done", "failed", "cancelled"}


def test_every_status_can_be_reached_and_left_towards_an_end() -> None:
    for moves, start in ((STEP_MOVES, StepStatus.PENDING), (TASK_MOVES, TaskStatus.READY)):
        reached, queue = {start}, [start]
        while queue:
            for end in moves[queue.pop()]:  # type: ignore[index]
                if end not in reached:
                    reached.add(end)
                    queue.append(end)
        assert reached == set(moves)
