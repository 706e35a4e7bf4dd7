"""What the store can be asked: plain selects on one committed snapshot each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, bindparam, func, literal_column, or_, select

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.errors import BadInput, NotFound
from keptstep.models.events import Event
from keptstep.models.ids import (
    ArtifactId,
    ConversationId,
    StepId,
    TaskId,
    WorkerId,
    is_fragment,
)
from keptstep.models.records import Attempt, Bell, Due, Step, Task
from keptstep.models.states import STEP_FINISHED, STEP_UNFINISHED, TASK_UNFINISHED
from keptstep.models.stores.prepared import Prepared, one_of
from keptstep.models.stores.sql_changes import FINISHING, task_open
from keptstep.models.stores.sql_recovery import orphaned
from keptstep.models.stores.sql_rows import (
    ARTIFACT,
    ATTEMPT,
    EVENT,
    NEED,
    SOURCE,
    STEP,
    TASK,
    as_attempt,
    as_event,
    as_ref,
    as_step,
    as_task,
    chunks,
)

_Id = TypeVar("_Id", bound=bytes)

_NEWEST = Prepared(
    select(func.coalesce(func.max(EVENT.c.seq), 0)).where(EVENT.c.task_id == bindparam("task"))
)
_NEWS = (
    select(EVENT.c.step_id)
    .where(
        EVENT.c.task_id == bindparam("task"),
        EVENT.c.seq > bindparam("after"),
        EVENT.c.seq <= bindparam("newest"),
        one_of(EVENT.c.kind, FINISHING),
    )
    .distinct()
)
_SETTLED = Prepared(
    select(STEP)
    .where(STEP.c.id.in_(_NEWS), one_of(STEP.c.status, sorted(STEP_FINISHED)))
    .order_by(STEP.c.position)
)
_SETTLED_NEEDS = Prepared(select(NEED).where(NEED.c.step_id.in_(_NEWS)).order_by(NEED.c.needs_id))
_ARTIFACT = Prepared(select(ARTIFACT).where(ARTIFACT.c.id == bindparam("artifact")))
_TASK = Prepared(select(TASK).where(TASK.c.id == bindparam("task")))
# The status stands in the text of the statement, so that the partial index fits.
_DUE_STEPS = (
    select(STEP.c.id, STEP.c.tool)
    .where(
        STEP.c.status == literal_column("'ready'"),
        STEP.c.due_at <= bindparam("time"),
        task_open(),
    )
    .order_by(STEP.c.due_at, STEP.c.id)
    .limit(bindparam("many"))
)
_DUE_TASKS = (
    select(TASK.c.id)
    .where(
        TASK.c.status == literal_column("'ready'"),
        TASK.c.due_at <= bindparam("time"),
        TASK.c.paused_at.is_(None),
    )
    .order_by(TASK.c.due_at, TASK.c.id)
    .limit(bindparam("many"))
)


def task(connection: Connection, task_id: TaskId) -> Task:
    """Return one task."""
    row = _TASK.run(connection, task=task_id).first()
    if row is None:
        raise NotFound(f"there is no task {task_id.hex()}")
    return as_task(row)


def tasks(connection: Connection, limit: int, unfinished: bool) -> list[Task]:
    """Return tasks, newest first: ids grow with time."""
    query = select(TASK).order_by(TASK.c.id.desc()).limit(limit)
    if unfinished:
        query = query.where(TASK.c.status.in_(TASK_UNFINISHED))
    return [as_task(row) for row in connection.execute(query)]


def conversation_tasks(connection: Connection, conversation_id: ConversationId) -> list[Task]:
    """Return a conversation's tasks, oldest first."""
    query = select(TASK).where(TASK.c.conversation_id == conversation_id).order_by(TASK.c.id)
    return [as_task(row) for row in connection.execute(query)]


def step(connection: Connection, step_id: StepId) -> Step:
    """Return one step."""
    row = connection.execute(select(STEP).where(STEP.c.id == step_id)).first()
    if row is None:
        raise NotFound(f"there is no step {step_id.hex()}")
    needs = select(NEED.c.needs_id).where(NEED.c.step_id == step_id).order_by(NEED.c.needs_id)
    return as_step(row, connection.execute(needs).scalars().all())


def steps(connection: Connection, task_id: TaskId) -> list[Step]:
    """Return a task's steps by position."""
    query = select(STEP).where(STEP.c.task_id == task_id).order_by(STEP.c.position)
    return _with_needs(connection, query)


def unfinished(connection: Connection, task_id: TaskId) -> list[Step]:
    """Return a task's unfinished steps by position."""
    query = select(STEP).where(STEP.c.task_id == task_id, STEP.c.status.in_(STEP_UNFINISHED))
    return _with_needs(connection, query.order_by(STEP.c.position))


def settled(connection: Connection, task_id: TaskId, after: int) -> tuple[int, list[Step]]:
    """Return the newest event's number and the steps that finished after ``after``."""
    newest = int(_NEWEST.run(connection, task=task_id).scalar())
    if newest == 0:
        raise NotFound(f"there is no task {task_id.hex()}")
    span = {"task": task_id, "after": after, "newest": newest}
    rows = _SETTLED.run(connection, **span).all()
    needs: dict[bytes, list[bytes]] = defaultdict(list)
    for pair in _SETTLED_NEEDS.run(connection, **span).all():
        needs[pair["step_id"]].append(pair["needs_id"])
    return newest, [as_step(row, needs.get(row["id"], ())) for row in rows]


def attempts(connection: Connection, step_id: StepId) -> list[Attempt]:
    """Return a step's attempts by number."""
    query = select(ATTEMPT).where(ATTEMPT.c.step_id == step_id).order_by(ATTEMPT.c.n)
    return [as_attempt(row) for row in connection.execute(query)]


def events(connection: Connection, task_id: TaskId, after: int, limit: int) -> list[Event]:
    """Return a task's events above a number."""
    query = select(EVENT).where(EVENT.c.task_id == task_id, EVENT.c.seq > after)
    rows = connection.execute(query.order_by(EVENT.c.seq).limit(limit))
    return [as_event(row) for row in rows]


def artifact(connection: Connection, artifact_id: ArtifactId) -> ArtifactRef:
    """Return one artifact's record."""
    row = _ARTIFACT.run(connection, artifact=artifact_id).first()
    if row is None:
        raise NotFound(f"there is no artifact {artifact_id.hex()}")
    return as_ref(row)


def sources(connection: Connection, artifact_id: ArtifactId) -> list[ArtifactId]:
    """Return what an artifact was derived from."""
    query = select(SOURCE.c.source_id).where(SOURCE.c.artifact_id == artifact_id)
    rows = connection.execute(query.order_by(SOURCE.c.source_id)).scalars()
    return [ArtifactId(value) for value in rows]


def owners(connection: Connection) -> set[WorkerId]:
    """Return every holder of a lease."""
    found: set[WorkerId] = set()
    for table in (STEP, TASK):
        running = table.c.status == literal_column("'running'")
        query = select(table.c.owner).where(running).distinct()
        found.update(WorkerId(owner) for owner in connection.execute(query).scalars())
    return found


def orphans(
    connection: Connection, now: float, dead: Collection[WorkerId], limit: int
) -> list[Step]:
    """Return running steps whose holder is gone, the longest gone first."""
    query = select(STEP).where(orphaned(STEP, now, dead))
    return _with_needs(connection, query.order_by(STEP.c.lease_until, STEP.c.id).limit(limit))


def due(
    connection: Connection,
    now: float,
    limit: int,
    only: Collection[TaskId] | None,
    tools: Collection[str] | None,
    workflows: Collection[str] | None,
) -> Due:
    """Return what may be claimed now, longest due first."""
    steps, tasks = _DUE_STEPS, _DUE_TASKS
    if only is not None:
        steps = steps.where(STEP.c.task_id.in_(list(only)))
        tasks = tasks.where(TASK.c.id.in_(list(only)))
    if tools is not None:
        steps = steps.where(STEP.c.tool.in_(list(tools)))
    if workflows is not None:
        tasks = tasks.where(TASK.c.workflow.in_(list(workflows)))
    given = {"time": now, "many": limit}
    return Due(
        tuple(Bell(StepId(i), tool) for i, tool in connection.execute(steps, given)),
        tuple(TaskId(i) for i in connection.execute(tasks, given).scalars()),
    )


def matching(connection: Connection, kind: str, fragment: str) -> list[bytes]:
    """Return up to 10 ids of a table that begin or end with a fragment (D48)."""
    if not is_fragment(fragment):
        raise BadInput(f"{fragment[:40]!r} is no id: ids are hexadecimal digits")
    table: Table = {"task": TASK, "step": STEP, "artifact": ARTIFACT}[kind]
    digits = fragment.replace("-", "").lower()
    text = func.lower(func.hex(table.c.id))
    like = or_(text.like(f"{digits}%"), text.like(f"%{digits}"))
    query = select(table.c.id).where(like).order_by(table.c.id).limit(10)
    return list(connection.execute(query).scalars())


def _with_needs(connection: Connection, query: Any) -> list[Step]:
    rows = connection.execute(query).all()
    needs: dict[bytes, list[bytes]] = defaultdict(list)
    for some in chunks([row.id for row in rows]):
        pairs = select(NEED).where(NEED.c.step_id.in_(some)).order_by(NEED.c.needs_id)
        for pair in connection.execute(pairs):
            needs[pair.step_id].append(pair.needs_id)
    return [as_step(row, needs.get(row.id, ())) for row in rows]
