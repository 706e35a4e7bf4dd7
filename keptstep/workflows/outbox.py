"""The part of a task store that holds what a person is to be told."""

from __future__ import annotations

from typing import Protocol

from keptstep.models.records import Notice


class Outbox(Protocol):
    """Notices, each written in the transaction of the event it tells of."""

    def claim_notices(self, limit: int, lease: float) -> list[Notice]:
        """Return up to ``limit`` due notices, oldest first, each given to the caller for
        ``lease`` seconds and its attempts one higher; without one nothing is written."""
        ...

    def notice_sent(self, notice: Notice) -> None:
        """Forget a notice, as long as the caller's claim is the last one."""
        ...

    def notice_failed(self, notice: Notice, delay: float | None) -> None:
        """Make a notice due again in ``delay`` seconds, or give it up with ``None``, as long as
        the caller's claim is the last one."""
        ...
