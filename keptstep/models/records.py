"""What the stores remember, as plain frozen values: no rows, no sessions, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from keptstep.models.artifacts import ArtifactClass, ArtifactRef, Effect
from keptstep.models.decisions import Verdict
from keptstep.models.ids import ArtifactId, ConversationId, Sha256, StepId, TaskId, WorkerId
from keptstep.models.states import StepStatus, TaskStatus


@dataclass(frozen=True, slots=True)
class Kept:
    """A failure's description: a short word for rows, the full text as an artifact.

    ``kind`` is a class name such as ``ValueError``; the text of an exception may hold a payload
    and so never stands in a row (R28).
    """

    kind: str
    artifact_id: ArtifactId | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a workflow."""

    id: TaskId
    conversation_id: ConversationId
    workflow: str
    status: TaskStatus
    input: str | None  #: canonical JSON document up to 1 KiB, or None when it is an artifact
    input_id: ArtifactId | None
    input_sha: Sha256  #: what makes two submissions with one key the same
    key: str | None  #: the caller's idempotency key
    owner: WorkerId | None
    token: int
    lease_until: float | None  #: seconds of the store's clock
    attempts: int  #: advances in a row that ended badly, the present one included
    max_attempts: int
    due_at: float
    last_seq: int  #: number of the newest event
    artifact_id: ArtifactId | None
    reason: str | None  #: why it failed or is blocked: one line without payload
    error: Kept | None
    created_at: float
    ended_at: float | None
    paused_at: float | None = None  #: a person paused it: nothing of it is begun


@dataclass(frozen=True, slots=True)
class Step:
    """One unit of work of a task."""

    id: StepId
    task_id: TaskId
    position: int
    name: str
    tool: str
    artifact_class: ArtifactClass
    effect: Effect
    status: StepStatus
    input: str | None  #: canonical JSON document up to 1 KiB, or None when it is an artifact
    input_id: ArtifactId | None
    input_sha: Sha256  #: tool, values and contents of the refs, hashed
    attempts: int
    max_attempts: int
    deadline: float  #: seconds an attempt may take
    owner: WorkerId | None
    token: int
    lease_until: float | None
    started_at: float | None  #: when the present or last attempt was claimed
    due_at: float
    artifact_id: ArtifactId | None  #: set by mark or finish; trusted only with ``done``
    reason: str | None
    error: Kept | None
    needs: tuple[StepId, ...] = ()

    @property
    def idempotency_key(self) -> str:
        """The key offered to a provider: the same for every attempt of this step."""
        return f"keptstep-{self.id.hex()}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a step, kept for good."""

    step_id: StepId
    n: int
    worker: WorkerId
    token: int
    started_at: float
    ended_at: float | None
    outcome: str | None  #: done, failed, uncertain, released, died, expired
    error: Kept | None


@dataclass(frozen=True, slots=True)
class StepLease:
    """The right to run one attempt; every write of the attempt carries ``token``."""

    step: Step
    token: int
    worker: WorkerId
    until: float

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.step.attempts


@dataclass(frozen=True, slots=True)
class TaskLease:
    """The right to advance one task."""

    task: Task
    token: int
    worker: WorkerId
    until: float


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """An artifact about to be recorded: its file is already kept and synced."""

    ref: ArtifactRef
    sources: tuple[ArtifactId, ...] = ()


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task about to be submitted."""

    id: TaskId
    conversation_id: ConversationId
    workflow: str
    input: str | None
    input_artifact: NewArtifact | None
    input_sha: Sha256
    key: str | None = None
    max_attempts: int = 3


@dataclass(frozen=True, slots=True)
class NewStep:
    """A step about to be planned."""

    id: StepId
    name: str
    tool: str
    artifact_class: ArtifactClass
    effect: Effect
    input: str | None
    input_artifact: NewArtifact | None
    input_sha: Sha256
    max_attempts: int = 3
    deadline: float = 1800.0  #: seconds (D6)
    needs: tuple[StepId, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict, who gives it and why; ``happened`` brings the evidence, which is the result."""

    verdict: Verdict
    by: str
    why: str
    evidence: NewArtifact | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """How an attempt failed: words without payload, and the kept text."""

    reason: str
    error: Kept
    text: NewArtifact | None = None  #: recorded together with the failure


class Bell(NamedTuple):
    """A step to ring for, and the tool by which a worker knows whether it can run it."""

    step_id: StepId
    tool: str


@dataclass(frozen=True, slots=True)
class Settled:
    """What a verb on a step changed, and who has to be told after the commit."""

    step: Step
    readied: tuple[Bell, ...] = ()  #: steps whose last need this was: ring them
    task_due: bool = False  #: the task's advance became due, or its holder has news: ring it


@dataclass(frozen=True, slots=True)
class Due:
    """What may be claimed now and so deserves a ring."""

    steps: tuple[Bell, ...]
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """Leases that a renewal found gone."""

    steps: frozenset[StepId]
    tasks: frozenset[TaskId]


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that a person is to be told; a row of the store's outbox."""

    id: bytes  #: 16 bytes; the same at every try
    kind: str  #: ``step_uncertain``, ``step_failed``, ``task_failed`` or ``task_blocked``
    at: float  #: when it happened, in seconds of the store's clock
    claimed_at: float  #: when it was claimed, by the same clock
    attempts: int  #: tries, the claimed one included
    task_id: TaskId
    workflow: str
    step_id: StepId | None
    step: str | None  #: the step's name
    reason: str  #: a sentence of ours, without payload
