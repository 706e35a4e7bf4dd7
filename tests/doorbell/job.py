"""A workflow for worker processes: `keptstep worker --import tests.doorbell.job`.

Every call appends one line, the number of its step, to the file COUNTS names.
"""

import os
import time

from tenacity import wait_fixed

from keptstep import RetryPolicy, Run, tool, workflow


def count(n: int) -> None:
    """Note one call."""
    line = os.open(os.environ["COUNTS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(line, f"{n}\n".encode())
    os.close(line)


@tool(name="doorbell.work", effect="none", retry=RetryPolicy(attempts=50, wait=wait_fixed(0.05)))
def work(n: int, seconds: float) -> int:
    """Take a while."""
    count(n)
    time.sleep(seconds)
    return n


@workflow(name="doorbell.fan", attempts=50)
async def fan(run: Run, count: int, seconds: float) -> int:
    """Run many steps side by side."""
    steps = (run.step(f"work:{n}", work, n=n, seconds=seconds) for n in range(count))
    return sum(one.value for one in await run.gather(steps))


@tool(name="doorbell.poison", effect="none", retry=RetryPolicy(attempts=3, wait=wait_fixed(0.05)))
def poison(n: int) -> int:
    """End the process that calls it."""
    count(n)
    os._exit(9)


@workflow(name="doorbell.poisoned", attempts=50)
async def poisoned(run: Run) -> int:
    """Ask for the impossible."""
    return int((await run.step("poison", poison, n=666)).value)
