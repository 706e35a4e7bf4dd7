"""The in-memory store's outbox of notices."""

from __future__ import annotations

from dataclasses import replace

from keptstep.models.records import Notice
from keptstep.models.stores.memory_data import Change, MemoryBase


class NoticeVerbs(MemoryBase):
    """See ``TaskStore`` for what each verb promises."""

    def claim_notices(self, limit: int, lease: float) -> list[Notice]:
        """Take due notices, oldest first."""
        with self._change() as change:
            pairs = change.tables.notices.values()
            due = sorted((n for n, at in pairs if at <= change.now), key=lambda n: (n.at, n.id))
            return [_claim(change, notice, lease) for notice in due[:limit]]

    def notice_sent(self, notice: Notice) -> None:
        """Forget a notice that was told."""
        self.notice_failed(notice, None)

    def notice_failed(self, notice: Notice, delay: float | None) -> None:
        """Make a notice due again, or forget it."""
        with self._change() as change:
            known, _ = change.tables.notices.get(notice.id, (None, 0.0))
            if known is None or known.attempts != notice.attempts:
                return
            due_at = float("inf") if delay is None else change.now + delay
            change.put(change.tables.notices, notice.id, (known, due_at))


def _claim(change: Change, notice: Notice, lease: float) -> Notice:
    claimed = replace(notice, claimed_at=change.now, attempts=notice.attempts + 1)
    change.put(change.tables.notices, notice.id, (claimed, change.now + lease))
    return claimed
