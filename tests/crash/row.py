"""Four steps of one effect, one for each artifact class: what the table of windows is run on.

A rule of the protocol is switched off when ``CRASH_MUTANT`` names it.
"""

import os
from typing import Any

from keptstep import Context, RetryPolicy, Run, tool, workflow
from keptstep.workflows.definition import Tool

CLASSES = (1, 2, 3, 4)
EFFECTS = ("none", "idempotent", "side effect")
_EAGER = RetryPolicy(attempts=50)


def name_of(artifact_class: int) -> str:
    """Return the name of the step of a class."""
    return f"class-{artifact_class}"


def _made(effect: str, artifact_class: int) -> Tool[..., str]:
    @tool(
        name=f"row.{effect.replace(' ', '-')}.{artifact_class}",
        effect=effect,
        artifact_class=artifact_class,
        retry=_EAGER,
    )
    def act(context: Context, source: str) -> str:
        """Do something; the provider would be given our key."""
        return f"{source} {context.step_name}"

    return act


TOOLS = {(effect, number): _made(effect, number) for effect in EFFECTS for number in CLASSES}


@workflow(name="row", attempts=50)
async def row(run: Run, effect: str) -> str:
    """Run the four steps, each on the result of the one before."""
    source: Any = "begun"
    for number in CLASSES:
        source = await run.step(name_of(number), TOOLS[effect, number], source=source)
    return str(source.value)


if os.environ.get("CRASH_MUTANT"):
    from tests.crash import mutants

    mutants.apply(os.environ["CRASH_MUTANT"])
