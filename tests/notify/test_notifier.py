"""The hook is called once for each thing, again when that failed, and never with a payload."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from keptstep.models.errors import StoreBusy
from keptstep.models.records import Notice
from keptstep.testing.clock import FakeClock
from keptstep.workers.hooks import CommandHook
from keptstep.workers.notifier import LEASE, MOST_TRIES, Notifier, wait_after
from tests.notify.outbox import STEP, TASK, FakeHook, FakeOutbox

HOME = Path("/some where/home")
KINDS = ("step_uncertain", "step_failed", "task_failed", "task_blocked")
DAY = 86_400.0


@pytest.fixture
def outbox() -> FakeOutbox:
    """Return an outbox that is empty."""
    return FakeOutbox(FakeClock())


def notifier_for(outbox: FakeOutbox, hook: FakeHook | CommandHook) -> Notifier:
    return Notifier(outbox, hook, HOME, every=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_each_thing_is_told_exactly_once(outbox: FakeOutbox, kind: str) -> None:
    hook = FakeHook()
    outbox.add(kind)
    notifier = notifier_for(outbox, hook)
    for _ in range(3):
        notifier.deliver_due()
        outbox.clock.advance(2 * LEASE)
    (told,) = hook.told
    assert (told["kind"], told["task_id"]) == (kind, TASK.hex())
    assert outbox.waits() == []


def test_a_document_says_what_happened_and_what_to_type(outbox: FakeOutbox) -> None:
    hook = FakeHook()
    outbox.add("step_failed", reason="the call raised in the last of 3 attempts")
    notifier_for(outbox, hook).deliver_due()
    (told,) = hook.told
    assert told.pop("host")
    assert told == {
        "id": "00" * 16,
        "kind": "step_failed",
        "at": "2023-11-14T22:13:20.000Z",
        "home": str(HOME),
        "task_id": TASK.hex(),
        "workflow": "report",
        "step_id": STEP.hex(),
        "step": "read:0004",
        "reason": "the call raised in the last of 3 attempts",
        "next": f"keptstep explain {STEP.hex()} --home '/some where/home'",
    }


def test_of_a_task_the_task_is_explained(outbox: FakeOutbox) -> None:
    hook = FakeHook()
    outbox.add("task_blocked")
    notifier_for(outbox, hook).deliver_due()
    (told,) = hook.told
    assert (told["step_id"], told["step"]) == (None, None)
    assert told["next"].startswith(f"keptstep explain {TASK.hex()} ")


def test_a_hook_that_fails_is_called_again_later_with_the_same_id(
    outbox: FakeOutbox, caplog: pytest.LogCaptureFixture
) -> None:
    hook = FakeHook("the address answered with 503", "it took longer than 10 s: cut")
    outbox.add("task_failed")
    notifier = notifier_for(outbox, hook)
    waits = []
    for _ in range(3):
        notifier.deliver_due()
        notifier.deliver_due()  # not before it is due again
        waits += outbox.waits()
        outbox.clock.advance(waits[-1])
    assert (waits, hook.ids) == ([10.0, 20.0], ["00" * 16] * 3)
    said = "task_failed of report (task 0c0d0e0f) could not be told: "
    assert [record.getMessage() for record in caplog.records] == [
        f"{said}the address answered with 503; another try in 10 s",
        f"{said}it took longer than 10 s: cut; another try in 20 s",
    ]


def test_one_that_fails_does_not_hold_up_the_others(outbox: FakeOutbox) -> None:
    hook = FakeHook("down")
    for n in range(3):
        outbox.add(n=n)
    notifier_for(outbox, hook).deliver_due()
    assert (len(hook.told), len(outbox.waits())) == (3, 1)


def test_after_a_day_of_tries_it_is_given_up_with_a_line(
    outbox: FakeOutbox, caplog: pytest.LogCaptureFixture
) -> None:
    hook = FakeHook(*["down"] * 100)
    outbox.add()
    notifier = notifier_for(outbox, hook)
    began = outbox.clock.now()
    for _ in range(MOST_TRIES):
        notifier.deliver_due()
        last = outbox.clock.now()
        outbox.clock.advance(max(outbox.waits(), default=0.0))
    assert (outbox.waits(), outbox.given_up) == ([], [bytes(16)])
    assert DAY - 3600 < last - began < DAY + 3600
    error = caplog.records[-1]
    assert error.levelno == logging.ERROR
    assert "step_failed of read:0004 (task 0c0d0e0f) could not be told in a day" in error.message


def test_waits_grow_to_an_hour() -> None:
    waits = [wait_after(n) for n in range(1, MOST_TRIES)]
    assert waits[:3] == [10, 20, 40]
    assert set(waits[9:]) == {3600.0}
    assert wait_after(MOST_TRIES) is None


def test_what_waited_for_more_than_a_week_is_not_news(
    outbox: FakeOutbox, caplog: pytest.LogCaptureFixture
) -> None:
    """A hook that is set for the first time is not flooded with a year of failures."""
    hook = FakeHook()
    outbox.add(n=1)
    outbox.clock.advance(7 * DAY + 1)
    outbox.add(n=2)
    notifier_for(outbox, hook).deliver_due()
    assert (hook.ids, outbox.given_up) == (["02" * 16], [b"\x01" * 16])
    assert "more than a week old" in caplog.text


def test_a_hook_that_hangs_is_cut_and_called_again(outbox: FakeOutbox, tmp_path: Path) -> None:
    script = 'if [ -e "$1" ]; then cat > "$1"; else touch "$1"; sleep 1000; fi'
    command = ["sh", "-c", script, "sh", str(tmp_path / "told")]
    outbox.add()
    notifier_for(outbox, CommandHook(command, timeout=1.0)).deliver_due()
    (wait,) = outbox.waits()
    outbox.clock.advance(wait)
    notifier_for(outbox, CommandHook(command, timeout=50.0)).deliver_due()
    assert outbox.waits() == []
    assert "step_failed" in (tmp_path / "told").read_text()


class Died(BaseException):
    """The process ended here."""


def test_a_worker_that_dies_before_the_mark_leaves_it_to_another_with_the_same_id(
    outbox: FakeOutbox,
) -> None:
    hook = FakeHook()
    outbox.add()

    def die() -> None:
        raise Died

    hook.during = die
    with pytest.raises(Died):
        notifier_for(outbox, hook).deliver_due()
    hook.during = lambda: None
    other = notifier_for(outbox, hook)
    other.deliver_due()
    assert len(hook.told) == 1  # as long as the claim lasts it is the first one's
    outbox.clock.advance(LEASE)
    other.deliver_due()
    assert (hook.ids, outbox.waits()) == (["00" * 16] * 2, [])


def test_two_workers_call_once(outbox: FakeOutbox) -> None:
    hook = FakeHook()
    both = threading.Barrier(2)
    for n in range(20):
        outbox.add(n=n)

    def work() -> None:
        both.wait()
        notifier_for(outbox, hook).deliver_due()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(hook.ids) == sorted({*hook.ids})
    assert (len(hook.ids), outbox.waits()) == (20, [])


def test_a_busy_store_is_asked_again(outbox: FakeOutbox) -> None:
    told = threading.Event()
    hook = FakeHook()
    hook.during = told.set
    faults = [StoreBusy("held"), StoreBusy("held")]
    outbox.add()
    claim = outbox.claim_notices

    def claim_notices(limit: int, lease: float) -> list[Notice]:
        if faults:
            raise faults.pop()
        return claim(limit, lease)

    outbox.claim_notices = claim_notices  # type: ignore[method-assign]
    notifier = notifier_for(outbox, hook)
    notifier.start()
    assert told.wait(20)
    notifier.stop(20)
    assert len(hook.told) == 1


def test_a_planned_stop_tells_what_happened_last(outbox: FakeOutbox) -> None:
    hook = FakeHook()
    notifier = Notifier(outbox, hook, HOME, every=3600)
    notifier.start()
    outbox.add()
    notifier.stop(20)
    assert (len(hook.told), outbox.waits()) == (1, [])


def test_a_planned_stop_does_not_wait_for_a_hook_that_hangs(
    outbox: FakeOutbox, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(3):
        outbox.add(n=n)
    hook = CommandHook(["sleep", "1000"], timeout=1000)
    notifier = notifier_for(outbox, hook)
    notifier.start()
    notifier.stop(0.2)
    assert len(outbox.waits()) == 3
    assert len(caplog.records) <= 1  # the others were not even tried
