"""Calling a tool within its deadline, whether it is a function or a coroutine.

A Python function cannot be stopped from outside. One that passes its deadline is left behind in
its thread, its lease ends, and the fence refuses whatever it still does; a coroutine is cancelled.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from keptstep.models.points import reach


class DeadlinePassed(Exception):
    """The call did not return in time."""


class CallExit(Exception):
    """The tool tried to end the process."""


#: Seconds a loop gets to end, and at most half of it beyond a deadline to answer at all.
_LOOP_GRACE = 1.0


class Calls:
    """Runs calls for the worker threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def call(
        self, function: Callable[..., Any], given: dict[str, Any], seconds: float, name: str
    ) -> Any:
        """Return what the function returns; raises what it raises, or ``DeadlinePassed``."""
        if inspect.iscoroutinefunction(function):
            return self._call_async(function, given, seconds)
        return self._call_sync(function, given, seconds, name)

    def stop(self) -> None:
        """End the loop of the coroutines; what is left behind ends with the process."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LOOP_GRACE)
        if not self._thread.is_alive():
            self._loop.close()

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        if pending:
            loop.run_until_complete(asyncio.wait(pending, timeout=_LOOP_GRACE / 2))

    def _call_sync(
        self, function: Callable[..., Any], given: dict[str, Any], seconds: float, name: str
    ) -> Any:
        answer: Future[Any] = Future()

        def work() -> None:
            try:
                reach("call.entered")
                value = function(**given)
                reach("call.acted")
                answer.set_result(value)
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=work, name=f"step {name}", daemon=True).start()
        ended = threading.Event()
        answer.add_done_callback(lambda _: ended.set())
        if not ended.wait(seconds):
            raise DeadlinePassed
        return answer.result()

    def _call_async(
        self, function: Callable[..., Any], given: dict[str, Any], seconds: float
    ) -> Any:
        async def limited() -> Any:
            try:
                async with asyncio.timeout(seconds) as limit:
                    reach("call.entered")
                    value = await function(**given)
                    reach("call.acted")
                    return value
            except TimeoutError:
                if limit.expired():
                    raise DeadlinePassed from None
                raise
            except (SystemExit, KeyboardInterrupt) as error:
                # Raised in a loop these two would end the loop, and with it every other call.
                raise CallExit(f"the tool raised {type(error).__name__}") from error

        loop = self._loop
        answer = asyncio.run_coroutine_threadsafe(limited(), loop)
        try:
            return answer.result(seconds + min(_LOOP_GRACE / 2, seconds / 20))
        except FutureTimeout:
            if answer.done():  # the tool's own TimeoutError
                raise
            # The coroutine blocks the loop or will not be cancelled: both are left behind.
            self._replace(loop)
            raise DeadlinePassed from None

    def _replace(self, stuck: asyncio.AbstractEventLoop) -> None:
        """Give later calls a loop of their own, once for each loop that is stuck."""
        with self._lock:
            if self._loop is stuck:
                self._begin()

    def _begin(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._serve, args=(self._loop,), name="keptstep-calls", daemon=True
        )
        self._thread.start()
