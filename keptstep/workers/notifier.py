"""Tells the user's hook what waits for a person or failed for good: once, and without payloads.

The store writes a notice in the transaction of the event itself, so that none is lost and none
is about what never happened. Whoever claims it calls the hook. A process that dies between the
call and the mark leaves it to another, which calls again with the same id.
"""

from __future__ import annotations

import json
import logging
import shlex
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keptstep.config import Settings
from keptstep.models.errors import BadInput
from keptstep.models.mint import new_id
from keptstep.models.records import Notice
from keptstep.workers.hooks import TIMEOUT, Hook, NotDelivered, hook_of
from keptstep.workers.ticker import Ticker
from keptstep.workflows.outbox import Outbox

log = logging.getLogger(__name__)

LEASE = 3 * TIMEOUT  #: seconds a claimed notice is left to its claimer
_FIRST = 10.0  # seconds before the second try
_LONGEST = 3600.0  # seconds between two tries at most
#: Tries of a notice: with these waits they fill a day.
MOST_TRIES = 32
_STALE = 7 * 86_400.0  # seconds after which nobody wants to be told for the first time


class Notifier:
    """Calls the hook for every notice that is due, in a thread of its own."""

    def __init__(self, outbox: Outbox, hook: Hook, home: Path, every: float) -> None:
        self._outbox = outbox
        self._hook = hook
        self._home = home
        self._stopping = threading.Event()
        self._ticker = Ticker("notifier", every, self.deliver_due, at_end=True)

    def start(self) -> None:
        """Begin."""
        self._ticker.start()

    def stop(self, grace: float) -> None:
        """Tell what is due now, for at most ``grace`` seconds, and end."""
        limit = threading.Timer(grace, self._cut)
        limit.daemon = True
        limit.start()
        self._ticker.stop()
        limit.cancel()

    def deliver_due(self) -> None:
        """Call the hook for what is due, one after another."""
        while not self._stopping.is_set():
            # One at a time: a claim does not run out while others are being told.
            claimed = self._outbox.claim_notices(1, LEASE)
            if not claimed:
                return
            self._deliver(claimed[0])

    def _deliver(self, notice: Notice) -> None:
        if notice.attempts == 1 and notice.claimed_at - notice.at > _STALE:
            log.warning("%s is more than a week old: nobody is told", _about(notice))
            self._outbox.notice_failed(notice, None)
            return
        try:
            self._hook.deliver(json.dumps(document(notice, self._home)))
        except NotDelivered as error:
            self._failed(notice, str(error))
        else:
            self._outbox.notice_sent(notice)

    def _failed(self, notice: Notice, why: str) -> None:
        delay = wait_after(notice.attempts)
        self._outbox.notice_failed(notice, delay)
        if delay is None:
            log.error("%s could not be told in a day and is given up: %s", _about(notice), why)
        else:
            about = _about(notice)
            log.warning("%s could not be told: %s; another try in %g s", about, why, delay)

    def _cut(self) -> None:
        self._stopping.set()
        self._hook.close()


def notifier_of(settings: Settings, outbox: Outbox) -> Notifier | None:
    """Return what tells the hook of the settings; ``None`` if they name none."""
    hook = hook_of(settings)
    return None if hook is None else Notifier(outbox, hook, settings.home, settings.sweep)


def wait_after(attempts: int) -> float | None:
    """Return the seconds to the next try after so many; ``None`` when a day of them is over."""
    if attempts >= MOST_TRIES:
        return None
    return min(_FIRST * 2.0 ** (attempts - 1), _LONGEST)


def document(notice: Notice, home: Path) -> dict[str, Any]:
    """Return what the hook is told: who, what, when, why in our words, and what to type next."""
    which = (notice.step_id or notice.task_id).hex()
    return {
        "id": notice.id.hex(),
        "kind": notice.kind,
        "at": _iso(datetime.fromtimestamp(notice.at, UTC)),
        "host": socket.gethostname(),
        "home": str(home),
        "task_id": notice.task_id.hex(),
        "workflow": notice.workflow,
        "step_id": None if notice.step_id is None else notice.step_id.hex(),
        "step": notice.step,
        "reason": notice.reason,
        "next": shlex.join(["keptstep", "explain", which, "--home", str(home)]),
    }


def test_notice(settings: Settings) -> None:
    """Call the hook once with a document of the kind ``test``: the same keys, no task.

    Raises ``BadInput`` if the settings name no hook, ``NotDelivered`` if the call failed.
    """
    hook = hook_of(settings)
    if hook is None:
        raise BadInput("no hook is set: KEPTSTEP_NOTIFY_COMMAND or KEPTSTEP_NOTIFY_URL names one")
    told = {
        "id": new_id().hex(),
        "kind": "test",
        "at": _iso(datetime.now(UTC)),
        "host": socket.gethostname(),
        "home": str(settings.home),
        "task_id": None,
        "workflow": None,
        "step_id": None,
        "step": None,
        "reason": "somebody tries the hook; nothing happened",
        "next": shlex.join(["keptstep", "ls", "--home", str(settings.home)]),
    }
    hook.deliver(json.dumps(told))


def _about(notice: Notice) -> str:
    what = notice.step if notice.step is not None else notice.workflow
    return f"{notice.kind} of {what} (task {notice.task_id.hex()[-8:]})"


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"
