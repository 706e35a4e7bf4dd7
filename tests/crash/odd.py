"""Tools with something the matter: what a crash test has to cope with."""

import os
import sys
import threading
import time

from tenacity import wait_none

from keptstep import Context, NotSent, RetryPolicy, tool


@tool(effect="none", retry=1)
def broken() -> str:
    """Fail, with no crash at all."""
    raise ValueError


@tool(effect="none")
def endless() -> str:
    """Never come to an end."""
    while True:
        time.sleep(1)


@tool(effect="none")
async def later(text: str) -> str:
    """Answer from a coroutine."""
    print("this is not for the harness")
    return text


@tool(effect="side effect", retry=RetryPolicy(wait=wait_none()))
def sent_at_last(context: Context) -> str:
    """Say of the first attempt that nothing was sent."""
    if context.attempt == 1:
        raise NotSent
    return "sent"


@tool(effect="none")
def exits() -> str:
    """End the process, as a fault in a library would."""
    os._exit(9)


@tool(effect="none")
def asks() -> str:
    """Read what there is to read."""
    return sys.stdin.read()


not_a_tool = 7


def begin() -> None:
    """Start a thread that outlives the import."""
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
