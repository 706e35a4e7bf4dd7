"""Waiting for something to come true, with a bound and without a fixed sleep."""

import threading
from collections.abc import Callable


def until(met: Callable[[], object], what: str, seconds: float = 20.0) -> None:
    """Wait until a condition is met; fails the test, saying `what` never came, after `seconds`."""
    for _ in range(int(seconds / 0.02)):
        if met():
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"it never came to this: {what}")
