"""Calling a tool within its deadline, whether it is a function or a coroutine.

A Python function cannot be stopped from outside. One that passes its deadline is left behind in
its thread, its lease ends, and the fence refuses whatever it still does; a coroutine is cancelled.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class DeadlinePassed(Exception):
    """The call did not return in time."""


class Calls:
    """Runs calls for the worker threads of one process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="keptstep-calls", daemon=True)
        self._thread.start()

    def call(
        self, function: Callable[..., Any], given: dict[str, Any], seconds: float, name: str
    ) -> Any:
        """Return what the function returns; raises what it raises, or ``DeadlinePassed``."""
        if asyncio.iscoroutinefunction(function):
            return self._call_async(function, given, seconds)
        return self._call_sync(function, given, seconds, name)

    def stop(self) -> None:
        """End the loop of the coroutines; a function left behind ends with the process."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))

    def _call_sync(
        self, function: Callable[..., Any], given: dict[str, Any], seconds: float, name: str
    ) -> Any:
        answer: Future[Any] = Future()

        def work() -> None:
            try:
                answer.set_result(function(**given))
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
                    return await function(**given)
            except TimeoutError:
                if limit.expired():
                    raise DeadlinePassed from None
                raise

        return asyncio.run_coroutine_threadsafe(limited(), self._loop).result()
