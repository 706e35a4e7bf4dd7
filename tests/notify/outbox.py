"""An outbox in memory, with time that moves when told to, and a hook that does as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from keptstep.models.ids import StepId, TaskId
from keptstep.models.records import Notice
from keptstep.testing.clock import FakeClock
from keptstep.workers.hooks import NotDelivered

TASK = TaskId(bytes(range(16)))
STEP = StepId(bytes(range(16, 32)))


class FakeOutbox:
    """The claims of an outbox, as the stores make them."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.given_up: list[bytes] = []
        self._lock = threading.Lock()
        self._rows: dict[bytes, tuple[Notice, float]] = {}

    def add(self, kind: str = "step_failed", reason: str = "it raised", n: int = 0) -> Notice:
        """Let something happen."""
        now = self.clock.now()
        step = kind.startswith("step")
        notice = Notice(
            id=bytes([n]) * 16,
            kind=kind,
            at=now,
            claimed_at=now,
            attempts=0,
            task_id=TASK,
            workflow="report",
            step_id=STEP if step else None,
            step="read:0004" if step else None,
            reason=reason,
        )
        self._rows[notice.id] = (notice, now)
        return notice

    def waits(self) -> list[float]:
        """Return in how many seconds what is left is due."""
        return [due - self.clock.now() for _, due in self._rows.values()]

    def claim_notices(self, limit: int, lease: float) -> list[Notice]:
        with self._lock:
            now = self.clock.now()
            due = [notice for notice, at in self._rows.values() if at <= now][:limit]
            claimed = [replace(one, attempts=one.attempts + 1, claimed_at=now) for one in due]
            self._rows.update({one.id: (one, now + lease) for one in claimed})
            return claimed

    def notice_sent(self, notice: Notice) -> None:
        with self._lock:
            if self._is_claimed(notice):
                del self._rows[notice.id]

    def notice_failed(self, notice: Notice, delay: float | None) -> None:
        with self._lock:
            if not self._is_claimed(notice):
                return
            if delay is None:
                self.given_up.append(notice.id)
                del self._rows[notice.id]
            else:
                self._rows[notice.id] = (notice, self.clock.now() + delay)

    def _is_claimed(self, notice: Notice) -> bool:
        row = self._rows.get(notice.id)
        return row is not None and row[0].attempts == notice.attempts


class FakeHook:
    """Notes what it is told; ``faults`` say how its next calls fail."""

    def __init__(self, *faults: str) -> None:
        self.told: list[dict[str, Any]] = []
        self.faults = list(faults)
        self.during: Callable[[], None] = lambda: None

    def deliver(self, document: str) -> None:
        self.told.append(json.loads(document))
        self.during()
        if self.faults:
            raise NotDelivered(self.faults.pop(0))

    def close(self) -> None:
        """Nothing of it could be cut."""

    @property
    def ids(self) -> list[str]:
        return [one["id"] for one in self.told]
