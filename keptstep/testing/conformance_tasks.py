"""Every suite over a ``TaskStore``: what a store has to do to be one.

``TASK_STORE_SUITES`` lists them; ``keptstep.testing.conformance_base`` says how to use them.
"""

from __future__ import annotations

from keptstep.testing.conformance_advance import AdvanceSuite
from keptstep.testing.conformance_base import StoreSuite
from keptstep.testing.conformance_claims import ClaimSuite, LeaseSuite
from keptstep.testing.conformance_envelope import EnvelopeSuite
from keptstep.testing.conformance_failures import (
    DeadLetterSuite,
    ReleaseSuite,
    RetrySuite,
    UncertainSuite,
)
from keptstep.testing.conformance_fences import StepFenceSuite, TaskFenceSuite
from keptstep.testing.conformance_needs import NeedsSuite
from keptstep.testing.conformance_notices import NoticeSuite
from keptstep.testing.conformance_pauses import PauseSuite
from keptstep.testing.conformance_plan import PlanSuite
from keptstep.testing.conformance_reads import ReadSuite
from keptstep.testing.conformance_recovery import OrphanSuite, RecoverSuite, RecoverTasksSuite
from keptstep.testing.conformance_submit import SubmitSuite
from keptstep.testing.conformance_verdicts import VerdictSuite

TASK_STORE_SUITES: tuple[type[StoreSuite], ...] = (
    SubmitSuite,
    AdvanceSuite,
    PlanSuite,
    ClaimSuite,
    LeaseSuite,
    StepFenceSuite,
    TaskFenceSuite,
    EnvelopeSuite,
    RetrySuite,
    DeadLetterSuite,
    UncertainSuite,
    VerdictSuite,
    NoticeSuite,
    PauseSuite,
    ReleaseSuite,
    NeedsSuite,
    OrphanSuite,
    RecoverSuite,
    RecoverTasksSuite,
    ReadSuite,
)
