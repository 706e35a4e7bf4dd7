"""explain: the kernel's decision with its facts, for steps and tasks in every condition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keptstep import App
from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.ids import ArtifactId, StepId, TaskId, WorkerId
from keptstep.models.mint import new_id
from keptstep.models.records import Failure, Kept, NewStep, Step, TaskLease
from keptstep.workers.liveness import Liveness
from tests.ops.conftest import Command

ELSEWHERE = WorkerId("00000000-elsewhere")


def new_step(name: str, tool: str = "demo.say", effect: Effect = Effect.NONE) -> NewStep:
    return NewStep(
        id=StepId(new_id()),
        name=name,
        tool=tool,
        artifact_class=ArtifactClass.SNAPSHOT,
        effect=effect,
        input='{"refs":[],"values":{}}',
        input_artifact=None,
        input_sha="a" * 64,  # type: ignore[arg-type]
    )


@pytest.fixture
def advance(opened: App) -> TaskLease:
    """Return the lease of a task that a worker of another host holds."""
    task = opened.submit("demo.say", text="hello").id
    lease = opened.store.claim_task(task, ELSEWHERE, 60.0)
    assert lease is not None
    return lease


@pytest.fixture
def planned(opened: App, advance: TaskLease) -> Callable[..., Step]:
    """Return a function that plans a step of the task."""

    def plan(name: str = "one", **given: object) -> Step:
        (step,) = opened.store.plan(advance, [new_step(name, **given)])  # type: ignore[arg-type]
        return step

    return plan


def explained(inside: Command, thing: bytes) -> tuple[str, str, dict[str, object]]:
    document = inside("explain", thing.hex(), "--json").document
    return document["decision"], document["reason"], document


def test_a_ready_step_runs_but_no_worker_is_there(
    inside: Command, planned: Callable[..., Step]
) -> None:
    decision, reason, document = explained(inside, planned().id)
    assert (decision, reason) == ("run", "ready, attempt 1 of 3")
    assert document["living_workers"] == 0
    assert "no worker runs on this home" in inside("explain", planned("two").id.hex()).out


def test_a_step_that_is_tried_again_later_tells_when(
    inside: Command, opened: App, planned: Callable[..., Step]
) -> None:
    lease = opened.store.claim_step(planned().id, ELSEWHERE, 60.0)
    assert lease is not None
    opened.store.retry(lease, Failure("the call raised in attempt 1", Kept("OSError")), 900.0)
    decision, reason, _ = explained(inside, lease.step.id)
    assert decision == "leave_alone"
    assert reason.startswith("due in ")
    shown = inside("explain", lease.step.id.hex()).out
    assert "in 14 min" in shown or "in 15 min" in shown
    assert "OSError" in shown
    assert "the call raised in attempt 1" in shown


def test_a_running_step_names_its_holder_token_and_end(
    inside: Command, opened: App, planned: Callable[..., Step]
) -> None:
    lease = opened.store.claim_step(planned().id, ELSEWHERE, 60.0)
    assert lease is not None
    decision, reason, document = explained(inside, lease.step.id)
    assert decision == "leave_alone"
    assert f"lease held by {ELSEWHERE}" in reason
    assert (document["holder_dead"], document["payload_intact"]) == (False, False)
    shown = inside("explain", lease.step.id.hex()).out
    assert f"held by   {ELSEWHERE} until " in shown
    assert "not of this host, or gone: its lease decides" in shown


def test_a_living_holder_is_alive_and_a_dead_one_proven_dead(
    inside: Command, opened: App, home: Path, planned: Callable[..., Step]
) -> None:
    liveness = Liveness(home / "workers")
    lease = opened.store.claim_step(planned().id, liveness.worker, 60.0)
    assert lease is not None
    assert "alive on this host" in inside("explain", lease.step.id.hex()).out
    assert explained(inside, lease.step.id)[2]["living_workers"] == 1
    file = home / "workers" / f"{liveness.worker}.lock"
    liveness.close()
    file.touch()  # what a killed worker leaves: a file that nobody locks
    decision, reason, document = explained(inside, lease.step.id)
    assert (decision, document["holder_dead"]) == ("run", True)
    assert reason == f"worker {liveness.worker} died in attempt 1 of 3, which may be repeated"
    assert "proven dead" in inside("explain", lease.step.id.hex()).out
    assert opened.store.step(lease.step.id).status == "running"


def test_a_side_effect_whose_lease_ended_is_stopped_for_a_person(
    inside: Command, opened: App, planned: Callable[..., Step]
) -> None:
    step = planned(effect=Effect.SIDE_EFFECT)
    lease = opened.store.claim_step(step.id, ELSEWHERE, 0.000001)
    assert lease is not None
    assert explained(inside, step.id)[0] == "block"
    opened.store.block(lease, Failure("the call raised: whether it acted is not known", Kept("X")))
    decision, _, document = explained(inside, step.id)
    assert (decision, document["status"]) == ("block", "uncertain")
    shown = inside("explain", step.id.hex()).out
    assert "a person has to find out whether it happened" in shown
    assert step.idempotency_key in shown


def test_a_tool_nobody_here_knows_is_named(inside: Command, planned: Callable[..., Step]) -> None:
    step = planned(tool="elsewhere.fetch")
    assert explained(inside, step.id)[2]["tool_known"] is False
    shown = inside("explain", step.id.hex()).out
    assert "needs the tool elsewhere.fetch, which is not known here" in shown
    assert "--import" in shown


def test_a_task_tells_its_own_state_and_its_unfinished_steps(
    inside: Command, opened: App, advance: TaskLease, planned: Callable[..., Step]
) -> None:
    first, second = planned("one"), planned("two", tool="elsewhere.fetch")
    decision, reason, document = explained(inside, advance.task.id)
    assert (decision, document["status"]) == ("leave_alone", "running")
    assert reason == f"worker {ELSEWHERE} holds its function in memory"
    assert [step["name"] for step in document["steps"]] == ["one", "two"]  # type: ignore[attr-defined]
    assert document["next_unfinished_step"] == first.id.hex()
    shown = inside("explain", advance.task.id.hex()).out
    assert f"step two ({second.id.hex()[-8:]}): run it: ready, attempt 1 of 3" in shown
    assert "step two needs the tool elsewhere.fetch" in shown
    opened.store.leave(advance, 99)
    assert explained(inside, advance.task.id)[1] == "its function waits for 2 unfinished steps"


def test_a_blocked_task_tells_how_to_go_on(
    inside: Command, opened: App, advance: TaskLease
) -> None:
    opened.store.block_task(
        advance, Failure("step one comes back changed", Kept("PlanDifference"))
    )
    decision, reason, _ = explained(inside, advance.task.id)
    assert (decision, reason) == ("block", "step one comes back changed")
    shown = inside("explain", advance.task.id.hex()).out
    assert f"keptstep resume {advance.task.id.hex()[-8:]} --again --by NAME --why TEXT" in shown


def test_explaining_changes_nothing(
    inside: Command, opened: App, advance: TaskLease, planned: Callable[..., Step]
) -> None:
    step = planned()
    before = opened.store.events(advance.task.id), opened.store.step(step.id)
    inside("explain", step.id.hex())
    inside("explain", advance.task.id.hex())
    assert (opened.store.events(advance.task.id), opened.store.step(step.id)) == before


def test_a_lost_error_text_is_told(
    inside: Command,
    opened: App,
    planned: Callable[..., Step],
    ended: Callable[..., str],
    home: Path,
    step_named: Callable[[str, str], str],
) -> None:
    task = ended("demo.fail", text="boom")
    step = opened.store.step(StepId(bytes.fromhex(step_named(task, "fail"))))
    assert step.error is not None
    text = step.error.artifact_id
    assert text is not None
    sha = opened.store.artifact(ArtifactId(text)).sha
    (home / "blobs" / sha[:2] / sha).unlink()
    assert "its text is lost" in inside("explain", step.id.hex()).out
    assert "its text is lost" in inside("show", TaskId(bytes.fromhex(task)).hex()).out
