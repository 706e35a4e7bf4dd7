"""A workflow for worker processes: `keptstep worker --import tests.doorbell.job`.

Every call appends one line, the number of its step, to the file COUNTS names.
"""

import os
import time

from tenacity import wait_fixed

from keptstep import RetryPolicy, Run, tool, workflow


@tool(name="doorbell.work", effect="none", retry=RetryPolicy(attempts=50, wait=wait_fixed(0.05)))
def work(n: int, seconds: float) -> int:
    """Take a while."""
    line = os.open(os.environ["COUNTS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(line, f"{n}\n".encode())
    os.close(line)
    time.sleep(seconds)
    return n


@workflow(name="doorbell.fan", attempts=50)
async def fan(run: Run, count: int, seconds: float) -> int:
    """Run many steps side by side."""
    steps = (run.step(f"work:{n}", work, n=n, seconds=seconds) for n in range(count))
    return sum(one.value for one in await run.gather(steps))
