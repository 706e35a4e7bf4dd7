"""Putting the doorbell of one worker process together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keptstep.config import Settings
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.workers.broker import StepQueue
from keptstep.workers.lease_broker.bells import Bells
from keptstep.workers.lease_broker.broker import LeaseBroker
from keptstep.workers.lease_broker.naming import home_name
from keptstep.workers.lease_broker.news import News
from keptstep.workers.lease_broker.outage import Outage
from keptstep.workers.lease_broker.script import Layout
from keptstep.workers.lease_broker.server import address, connect, refuse_unfit

if TYPE_CHECKING:
    import redis

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ears:
    """What a process wants to know; none of them may block long."""

    tools: Callable[[], Collection[str]]  #: the tools it knows now
    run: Callable[[StepId], Any]  #: runs one step
    heard: Callable[[TaskId], None]  #: somebody has news of a task
    missed: Callable[[], None]  #: news may have been missed


def fit_server(settings: Settings, now: Callable[[], float]) -> redis.Redis:
    """Return a client of the server that ``settings.redis_url`` names.

    ``now`` is the store's clock in seconds. Raises ``BadInput`` for a server that must not be
    used; one that is away is used as soon as it is back.
    """
    client = connect(settings.redis_url)
    refuse_unfit(client, now)
    log.info("steps are shared through Redis at %s", address(settings.redis_url))
    return client


def redis_queue(
    client: redis.Redis, settings: Settings, worker: WorkerId, ears: Ears
) -> StepQueue:
    """Return the queue of a worker through this server."""
    layout = Layout(home_name(settings.home))
    broker = LeaseBroker(
        Bells(client, layout, worker, settings.lease),
        News(client, layout.channel, worker, ears.heard, ears.missed),
        Outage(address(settings.redis_url)),
        ears.tools,
        settings.workers,
    )
    return StepQueue(settings.workers, ears.run, broker)
