"""settle: a person's verdict on a step whose outcome is not known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keptstep.app import App
from keptstep.models.artifacts import Effect
from keptstep.models.ids import ConversationId, StepId, TaskId, WorkerId
from keptstep.models.mint import new_id
from keptstep.models.records import Failure, Kept, Step
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.builders import new_step, new_task
from keptstep.workers.liveness import host_name
from keptstep.workflows.kernel import Block
from tests.ops.conftest import Command, wait_for_step
from tests.ops.test_stopping import let_go

HOLDER = WorkerId(f"{host_name()}-00000000000000aa")
SIGNED = ("--by", "kim", "--why", "asked the bank")

Uncertain = Callable[..., Step]


@pytest.fixture
def uncertain(opened: App) -> Uncertain:
    """Return a function that makes an uncertain step: by its holder's word, or by its silence."""

    def make(*, silent: bool = False, deadline: float = 600.0) -> Step:
        new = new_task(id=TaskId(new_id()), conversation_id=ConversationId(new_id()))
        task, _ = opened.store.submit(new)
        advance = opened.store.claim_task(task.id, HOLDER, 60.0)
        assert advance is not None
        pay = new_step(
            "pay",
            id=StepId(new_id()),
            effect=Effect.SIDE_EFFECT,
            deadline=deadline,
            max_attempts=1,
        )
        (step,) = opened.store.plan(advance, [pay])
        opened.store.leave(advance, 99)
        lease = opened.store.claim_step(step.id, HOLDER, 1e-6 if silent else 60.0)
        assert lease is not None
        if silent:
            found = opened.store.step(step.id)
            settled = opened.store.recover(found, Block("its lease ended: who knows"))
            assert settled is not None
            return settled.step
        return opened.store.block(lease, Failure("the call raised", Kept("TimeoutError"))).step

    return make


def test_what_happened_is_done_and_the_evidence_is_its_result(
    inside: Command, opened: App, uncertain: Uncertain, tmp_path: Path
) -> None:
    step = uncertain()
    (tmp_path / "receipt.json").write_text('{"paid": 7}')
    ran = inside(
        "settle",
        step.id.hex(),
        "--happened",
        "--evidence",
        str(tmp_path / "receipt.json"),
        *SIGNED,
    )
    assert (ran.code, ran.out) == (0, f"step pay ({step.id.hex()[-8:]}) is done now\n")
    assert inside("read", step.id.hex()).out == '{"paid":7}'
    assert opened.store.task(step.task_id).status is TaskStatus.READY
    (event,) = [
        event
        for event in inside("events", step.task_id.hex(), "--json").document
        if event["kind"] == "step_settled"
    ]
    assert event["data"] == {"verdict": "happened", "by": "kim", "why": "asked the bank"}
    assert "step_settled" in inside("events", step.task_id.hex()).out


def test_without_evidence_the_result_is_null(inside: Command, uncertain: Uncertain) -> None:
    step = uncertain()
    done = inside("settle", step.id.hex(), "--happened", *SIGNED, "--json").document
    assert done["status"] == "done"
    assert inside("read", step.id.hex()).out == "null"


def test_a_kept_artifact_can_be_the_evidence(
    inside: Command, opened: App, uncertain: Uncertain
) -> None:
    first, second = uncertain(), uncertain()
    inside("settle", first.id.hex(), "--happened", *SIGNED)
    kept = opened.store.step(first.id).artifact_id
    assert kept is not None
    settle = ("settle", second.id.hex(), "--happened", "--evidence", kept.hex())
    assert inside(*settle, *SIGNED).code == 0
    assert opened.store.step(second.id).artifact_id == kept


def test_what_did_not_happen_may_run_again(
    inside: Command, opened: App, uncertain: Uncertain
) -> None:
    step = uncertain()
    assert inside("settle", step.id.hex(), "--did-not-happen", *SIGNED).code == 0
    again = opened.store.step(step.id)
    assert (again.status, again.attempts) == (StepStatus.READY, 0)


def test_what_is_abandoned_has_failed(inside: Command, opened: App, uncertain: Uncertain) -> None:
    step = uncertain()
    assert inside("settle", step.id.hex(), "--abandon", *SIGNED).code == 0
    found = opened.store.step(step.id)
    assert (found.status, found.reason) == (
        StepStatus.FAILED,
        "abandoned by kim: asked the bank",
    )


def test_while_the_old_worker_may_still_be_at_it_a_verdict_is_refused_with_the_time_left(
    inside: Command, opened: App, uncertain: Uncertain
) -> None:
    step = uncertain(silent=True)
    for verdict in ("--happened", "--did-not-happen", "--abandon"):
        ran = inside("settle", step.id.hex(), verdict, *SIGNED)
        assert (ran.code, ran.out) == (4, "")
        assert "no verdict before its deadline, in " in ran.err
    assert opened.store.step(step.id) == step
    assert "no verdict for another " in inside("explain", step.id.hex()).out


def test_once_the_old_worker_is_proven_dead_the_verdict_is_taken(
    inside: Command, home: Path, uncertain: Uncertain
) -> None:
    step = uncertain(silent=True)
    (home / "workers").mkdir(exist_ok=True)
    (home / "workers" / f"{HOLDER}.lock").touch()  # nobody holds it
    assert inside("settle", step.id.hex(), "--did-not-happen", *SIGNED).code == 0


def test_once_the_deadline_passed_the_verdict_is_taken(
    inside: Command, uncertain: Uncertain
) -> None:
    step = uncertain(silent=True, deadline=1e-6)
    assert inside("settle", step.id.hex(), "--abandon", *SIGNED).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "one of --happened, --did-not-happen and --abandon"),
        (("--happened", "--abandon"), "one of --happened, --did-not-happen and --abandon"),
        (("--abandon", "--evidence", "x"), "--evidence goes with --happened"),
        (("--happened", "--evidence", "no such file"), "cannot be read"),
        (("--happened", "--evidence", "broken.json"), "does not hold what its name says"),
    ],
)
def test_a_verdict_that_cannot_be_taken_changes_nothing(  # noqa: PLR0913, PLR0917
    inside: Command,
    opened: App,
    uncertain: Uncertain,
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text("{")
    step = uncertain()
    ran = inside("settle", step.id.hex(), *words, *SIGNED)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert opened.store.step(step.id) == step


def test_only_an_uncertain_step_is_settled(inside: Command, uncertain: Uncertain) -> None:
    step = uncertain()
    inside("settle", step.id.hex(), "--abandon", *SIGNED)
    ran = inside("settle", step.id.hex(), "--did-not-happen", *SIGNED)
    assert ran.code == 2
    assert "step pay is failed: only an uncertain step needs a verdict" in ran.err


@pytest.mark.crash
def test_a_killed_side_effect_goes_on_after_a_verdict(
    started: Callable[..., object],
    submitted: Callable[..., str],
    process: Command,
    gate: Path,
    tmp_path: Path,
) -> None:
    task = submitted("demo.pay", gate=str(gate))
    killed = started("resume", task)
    wait_for_step(gate)
    killed.kill()  # type: ignore[attr-defined]
    killed.wait(20)  # type: ignore[attr-defined]
    let_go(gate)
    assert process("resume", task).code == 4
    assert "keptstep settle " in process("explain", f"{task}/pay").out
    (tmp_path / "paid.json").write_text('"paid by hand"')
    settle = ("settle", f"{task}/pay", "--happened", "--evidence", "paid.json")
    assert process(*settle, *SIGNED).code == 0
    again = process("resume", task)
    assert (again.code, again.out) == (0, "paid by hand\n")
