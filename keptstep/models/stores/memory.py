"""The task store in memory: the twin of the SQL store, for tests and tutorials."""

from __future__ import annotations

from keptstep.models.stores.memory_leases import LeaseVerbs
from keptstep.models.stores.memory_notices import NoticeVerbs
from keptstep.models.stores.memory_pauses import PauseVerbs
from keptstep.models.stores.memory_plan import PlanVerbs
from keptstep.models.stores.memory_reads import Reads
from keptstep.models.stores.memory_steps import StepVerbs
from keptstep.models.stores.memory_tasks import TaskVerbs
from keptstep.models.stores.memory_verdicts import VerdictVerbs


class MemoryTaskStore(
    TaskVerbs, PlanVerbs, StepVerbs, VerdictVerbs, PauseVerbs, NoticeVerbs, LeaseVerbs, Reads
):
    """A ``TaskStore`` that forgets everything with its process.

    Safe to share between threads. ``clock`` is where its time comes from, ``max_steps`` the
    limit of steps per task (D32).
    """
