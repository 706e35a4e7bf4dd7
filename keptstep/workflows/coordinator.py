"""The coordinator: takes the advance of a task, runs its function, records how it ended.

An advance is leased, fenced, counted and capped like a step. Its holder keeps the suspended
function in memory while steps run, so that a long workflow does not begin anew after each of
them; the rows stay the truth, and whoever finds the holder dead enters the function again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from keptstep.models.errors import LeaseLost, StoreError
from keptstep.models.ids import TaskId, WorkerId
from keptstep.models.points import reach
from keptstep.models.records import TaskLease
from keptstep.models.states import TASK_FINISHED, TaskStatus
from keptstep.workflows.failures import place_of
from keptstep.workflows.held import Held
from keptstep.workflows.kernel import verdict_needed
from keptstep.workflows.live import LiveRun, Services
from keptstep.workflows.outcome import FunctionExit, Outcomes, Raised, Returned
from keptstep.workflows.run import Run

log = logging.getLogger(__name__)

_BLOCKING_THREADS = 16
#: Seconds without a new event after which it is asked whether only a verdict can go on.
_SETTLE = 0.3
#: Seconds on top of the grace for the loop itself to answer.
_STOP = 2.0


class Coordinator:
    """Runs workflow functions in one event loop of its own thread."""

    def __init__(
        self,
        make_services: Callable[[Any], Services],
        held: Held,
        worker: WorkerId,
        lease: float,
        park_after: float,
        ended: Callable[[TaskId], None],
    ) -> None:
        self._pool = ThreadPoolExecutor(_BLOCKING_THREADS, "keptstep-blocking")
        self._loop = asyncio.new_event_loop()
        self._services = make_services(self._blocking)
        self._outcomes = Outcomes(self._services)
        self._held = held
        self._worker = worker
        self._lease = lease
        self._park_after = park_after
        self._ended = ended
        self._news: dict[TaskId, asyncio.Event] = {}
        self._running: dict[TaskId, asyncio.Task[None]] = {}
        self._functions: dict[asyncio.Task[Any], LiveRun] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="keptstep-advance", daemon=True)

    def start(self) -> None:
        """Begin to take advances."""
        self._thread.start()

    def ring(self, task_id: TaskId) -> None:
        """Say that a task's advance may be due or has news; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._look, task_id)
        except RuntimeError:  # the loop is closed: the next worker's sweeper finds the task
            log.debug("a ring for task %s came after the end", task_id.hex())

    def ring_if_held(self, task_id: TaskId) -> None:
        """Another process has news of a task: look for it if the task is held here."""
        if task_id in self._news:
            self.ring(task_id)

    def ring_held(self) -> None:
        """Look for news of every task held here: what other processes finished."""
        for task_id in list(self._news):
            self.ring(task_id)

    def stop(self, grace: float) -> None:
        """Give every advance back, uncounted, and end the loop.

        A function that blocks the loop or will not be cancelled within ``grace`` seconds is
        left behind; its lease ends with this worker.
        """
        if self._thread.is_alive():
            given_back = asyncio.run_coroutine_threadsafe(self._give_back(grace), self._loop)
            try:
                given_back.result(grace + _STOP)
            except TimeoutError:
                log.warning("a workflow function does not stop: it is left behind")
                self._pool.shutdown(wait=False)
                return
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._pool.shutdown()
        self._loop.close()

    # -- the loop ----------------------------------------------------------------------------
    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _blocking(self, work: Callable[[], Any]) -> Any:
        return await self._loop.run_in_executor(self._pool, work)

    async def _give_back(self, grace: float) -> None:
        self._stopping = True
        for function, live in self._functions.items():
            live.close()
            function.cancel()
        if self._running:
            await asyncio.wait(self._running.values(), timeout=grace)

    def _look(self, task_id: TaskId) -> None:
        news = self._news.get(task_id)
        if news is not None:
            news.set()
        elif not self._stopping:
            self._news[task_id] = asyncio.Event()
            self._running[task_id] = self._loop.create_task(self._advance(task_id))

    async def _advance(self, task_id: TaskId) -> None:
        """Take the advance if it is to be had, and see it through."""
        try:
            lease = await self._blocking(partial(self._claim, task_id))
            if lease is not None:
                reach("advance.claimed")
                self._held.add_task(lease)
                try:
                    await self._see_through(lease)
                finally:
                    self._held.drop_task(lease)
        except (LeaseLost, StoreError) as error:
            # Nothing is lost: the lease ends, and a sweeper finds the task.
            log.warning("task %s is left to whoever finds it: %s", task_id.hex(), error)
        except Exception as error:
            # Ours, not the function's: its lease is renewed no more and another may take it.
            log.error("the advance of task %s could not go on: %s", task_id.hex(), place_of(error))
        finally:
            news = self._news.pop(task_id)
            self._running.pop(task_id)
            if news.is_set() and not self._stopping:
                self._look(task_id)

    def _claim(self, task_id: TaskId) -> TaskLease | None:
        known = list(self._services.registry.workflows)
        return self._services.store.claim_task(task_id, self._worker, self._lease, known)

    async def _see_through(self, lease: TaskLease) -> None:
        """Run the function until it ends, waits long, or this worker stops."""
        store = self._services.store
        known = await self._blocking(partial(store.steps, lease.task.id))
        live = LiveRun(lease, self._services, known)
        function = asyncio.create_task(self._enter(live))
        self._functions[function] = live
        try:
            seen = lease.task.last_seq if self._stopping else await self._listen(live, function)
        finally:
            del self._functions[function]
            # From here on the function plans nothing, whatever it does while it is cancelled.
            live.close()
        if function.done() and not (self._stopping and function.cancelled()):
            await self._record(live, function)
            return
        await _cancelled(function)
        if self._stopping:
            await self._blocking(partial(store.release_task, lease))
        else:
            await self._park(lease, seen)

    async def _record(self, live: LiveRun, function: asyncio.Task[Any]) -> None:
        reach("advance.returned")
        record = partial(self._outcomes.record, live, _outcome(function))
        task = await self._blocking(record)
        reach("advance.finished")
        if task.status in TASK_FINISHED or task.status is TaskStatus.BLOCKED:
            self._ended(task.id)

    async def _enter(self, live: LiveRun) -> Any:
        task = live.lease.task
        workflow = self._services.registry.workflow(task.workflow)
        read = partial(self._outcomes.arguments, live, workflow)
        inputs = await self._blocking(read)
        reach("advance.entered")
        try:
            return await workflow.function(Run(live), **inputs)
        except (SystemExit, KeyboardInterrupt) as error:
            # Raised in a loop these two would end the loop, and with it every other task.
            raise FunctionExit(f"the function raised {type(error).__name__}") from error

    async def _listen(self, live: LiveRun, function: asyncio.Task[Any]) -> int:
        """Deliver what finishes until the function ends or has waited long for nothing new.

        Returns the number of the newest event the function was told of.
        """
        news, now = self._news[live.task_id], self._loop.time
        seen, quiet_since, look_at = live.lease.task.last_seq, now(), math.inf
        while not function.done():
            until = min(quiet_since + self._park_after, look_at)
            heard = await self._heard(news, function, max(until - now(), 0.0))
            if heard:
                news.clear()
                before = seen
                read = partial(self._services.store.settled, live.task_id, before)
                seen, finished = await self._blocking(read)
                live.deliver(finished)
                if seen > before:
                    look_at = now() + _SETTLE
                if finished:
                    quiet_since = now()
            if now() < until or function.done():
                continue
            quiet = now() >= quiet_since + self._park_after
            if live.waits and (quiet or await self._stuck(live)):
                break
            look_at = math.inf
            if quiet:
                quiet_since = now()
        return seen

    async def _stuck(self, live: LiveRun) -> bool:
        """Whether only a verdict can move the task: then nothing is gained by waiting here."""
        read = partial(self._services.store.unfinished, live.task_id)
        return verdict_needed(await self._blocking(read)) is not None

    async def _heard(
        self, news: asyncio.Event, function: asyncio.Task[Any], seconds: float
    ) -> bool:
        """Wait for news, the function's end or some seconds; whether there is news."""
        heard = asyncio.create_task(news.wait())
        await asyncio.wait({heard, function}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        heard.cancel()
        return news.is_set()

    async def _park(self, lease: TaskLease, seen: int) -> None:
        """Let go of a function that waits; whoever finds its task due enters it again."""
        task = await self._blocking(partial(self._services.store.leave, lease, seen))
        if task.status is TaskStatus.READY:
            self._news[task.id].set()


async def _cancelled(function: asyncio.Task[Any]) -> None:
    """Cancel a function; one that will not end is left behind, and plans nothing any more."""
    function.cancel()
    await asyncio.wait({function}, timeout=_STOP)
    if not function.done():
        log.warning("a workflow function does not end when it is cancelled: it is left behind")


def _outcome(function: asyncio.Task[Any]) -> Returned | Raised:
    if function.cancelled():
        return Raised(FunctionExit("the function cancelled itself"))
    error = function.exception()
    return Returned(function.result()) if error is None else Raised(error)
