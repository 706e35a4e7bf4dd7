"""Every error keptstep raises, as one tree.

KeptstepError
  What a caller asked for cannot be taken
    BadInput            an argument that cannot be taken: name, question, value, size
      NotSerializable   a value that cannot be kept as JSON
      DuplicateStep     one name asked for twice in one run of a workflow
      TooLarge          a payload over the limit
    NotFound            no such task, step, artifact, tool, workflow
    Ambiguous           an id fragment that fits several
    KeyConflict         an idempotency key used before with another input
  Refused by the state of things
    IllegalMove         a status change the table does not have
    LeaseLost           the attempt's token is no longer current: somebody else goes on
    TaskBlocked         the task waits for an operator
    VerdictTooEarly     the old holder of an uncertain step may still act (D4)
    PlanDifference      a step known by name came back with another tool or input
  Outcomes a caller asked for
    StepFailed          a step is failed for good
    TaskFailed          a task is failed for good
    WaitTimeout         the answer did not come in the time given
  The store
    StoreError          the store could not do what was asked
      StoreBusy         another process holds the database
      SchemaNewer       the database was written by a newer keptstep
      StoreDamaged      the database is not readable as one
      HomeNotWritable   the home folder cannot be used
      CommitUnknown     a commit failed and could not be read back
    ArtifactMissing     the file behind a hash is gone
    ArtifactCorrupt     the file's bytes do not match its hash

What a tool raises to say how an attempt ended (control flow):
  Permanent             do not try again
  NotSent               surely nothing happened outside: may be tried again (D43)
  Refused               the destination said no: failed for good, nothing happened (D43)
"""

from __future__ import annotations

from collections.abc import Callable


class KeptstepError(Exception):
    """Something keptstep refuses or cannot do; the message is one line for a person."""


class BadInput(KeptstepError):
    """An argument that cannot be taken; nothing was written."""


class NotSerializable(BadInput):
    """A value that cannot be kept as JSON."""


class DuplicateStep(BadInput):
    """One step name asked for twice in one run of a workflow (D32)."""


class TooLarge(BadInput):
    """A payload over the limit in bytes."""


class NotFound(KeptstepError):
    """No such task, step, artifact, tool or workflow."""


class Ambiguous(KeptstepError):
    """An id fragment that fits more than one thing."""


class KeyConflict(KeptstepError):
    """An idempotency key that was used before with another input."""


class IllegalMove(KeptstepError):
    """A status change that the transition table does not have."""


class LeaseLost(KeptstepError):
    """The token of this attempt is no longer current; its write was refused."""


class TaskBlocked(KeptstepError):
    """The task stopped for an operator."""


class VerdictTooEarly(KeptstepError):
    """A verdict is refused while the old holder may still act (D4); ``seconds`` until it may."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class PlanDifference(KeptstepError):
    """A step known by name came back with another tool or input.

    The message names what changed; ``diff`` shows it, values included, and is for people only.
    """

    def __init__(self, message: str, diff: str = "") -> None:
        super().__init__(message)
        self.diff = diff


class StepFailed(KeptstepError):
    """A step is failed for good; delivered to the workflow function once and finally.

    ``step`` is the step's name, ``reason`` why it failed: one line without payload. ``detail``
    is the kept text of the last error, loaded only by those who show it to a person.
    """

    def __init__(self, step: str, reason: str, detail: Callable[[], str] | None = None) -> None:
        super().__init__(f"step {step} failed: {reason}")
        self.step = step
        self.reason = reason
        self._detail = detail

    @property
    def detail(self) -> str:
        """The last error's own text, or the reason where none was kept."""
        return self._detail() if self._detail is not None else self.reason


class TaskFailed(KeptstepError):
    """A task is failed for good."""


class WaitTimeout(KeptstepError):
    """The task was not finished within the seconds given."""


class StoreError(KeptstepError):
    """The store could not do what was asked."""


class StoreBusy(StoreError):
    """Another process holds the database longer than the busy time-out."""


class SchemaNewer(StoreError):
    """The database was written by a newer keptstep; nothing was touched (D40)."""


class StoreDamaged(StoreError):
    """The database file is not readable as one."""


class HomeNotWritable(StoreError):
    """The home folder cannot be created or written."""


class CommitUnknown(StoreError):
    """A commit failed and could not be read back; whether it happened is not known."""


class ArtifactMissing(KeptstepError):
    """The file behind a hash is gone."""


class ArtifactCorrupt(KeptstepError):
    """The bytes of a file do not match its hash."""


class ToolOutcome(Exception):
    """What a tool raises to say how its attempt ended."""


class Permanent(ToolOutcome):
    """Trying again would not help: the step fails for good.

    Of a side effect it says nothing about what happened: that ends uncertain.
    """


class NotSent(ToolOutcome):
    """Surely nothing happened outside; a side effect may be tried again (D43)."""


class Refused(ToolOutcome):
    """The destination said no, so nothing happened: the step fails for good (D43)."""
