"""A job to be killed: five sources are read and noted side by side, and perhaps acted upon."""

from keptstep import RetryPolicy, Run, tool, workflow

SOURCES = 5
EAGER = RetryPolicy(attempts=50)


@tool(name="job.find", artifact_class=2, effect="none", retry=EAGER)
def find() -> list[int]:
    """Find the sources."""
    return list(range(SOURCES))


@tool(name="job.read", artifact_class=2, effect="none", retry=EAGER)
def read(n: int) -> str:
    """Read one source."""
    return f"source {n} " * 100


@tool(name="job.note", artifact_class=3, effect="idempotent", retry=EAGER)
def note(page: str) -> int:
    """Take a note; the provider would take our key."""
    return len(page)


@tool(name="job.send", retry=EAGER)
def send(total: int) -> str:
    """Act on the world outside: undeclared, so a side effect."""
    return f"sent {total}"


@workflow(name="job", attempts=50)
async def job(run: Run, act: bool) -> str:
    """Read, note, and perhaps act."""
    found = await run.step("find", find)
    pages = await run.gather(run.step(f"read:{n}", read, n=n) for n in found.value)
    notes = await run.gather(
        run.step(f"note:{n}", note, page=page) for n, page in enumerate(pages)
    )
    total = sum(one.value for one in notes)
    if act:
        return str((await run.step("send", send, total=total)).value)
    return f"total {total}"
