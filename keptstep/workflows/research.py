"""The research workflow: a question and sources in, a cited report out."""

from __future__ import annotations

import re

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.errors import BadInput, StepFailed
from keptstep.workflows.definition import workflow
from keptstep.workflows.run import Run
from keptstep.workflows.values import Result

#: Characters of a question.
LONGEST_QUESTION = 4000

FIND = "keptstep.research.find"
READ = "keptstep.research.read"
NOTES = "keptstep.research.notes"
REPORT = "keptstep.research.report"

#: What a traceback's last line says before the message: the class of the error.
_CLASS = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*\.)*([A-Za-z_][A-Za-z0-9_]*): ")


def check_question(question: str) -> str:
    """Return the question without the white space around it; raises ``BadInput``."""
    asked = question.strip()
    if not asked:
        raise BadInput("the question is empty: say what is to be found out")
    if len(asked) > LONGEST_QUESTION:
        raise BadInput(
            f"the question has {len(asked)} characters, over the limit of {LONGEST_QUESTION}: "
            "put what it is about among the sources"
        )
    return asked


@workflow(name="keptstep.research")
async def research(
    run: Run, question: str, sources: list[str], brain: str = "extractive"
) -> Result[str]:
    """Read the sources, take notes on the question and write a report with citations.

    ``sources`` are absolute paths or globs (``check_sources`` makes them so). A source that
    fails is told of in the report and fails nothing else. Raises ``BadInput`` for a question
    that ``check_question`` refuses.
    """
    question = check_question(question)
    found = await run.step("find", FIND, sources=sources)

    async def study(index: int) -> ArtifactRef:
        page = await run.step(f"read:{index:04d}", READ, found=found.ref, index=index)
        note = await run.step(
            f"note:{index:04d}", NOTES, question=question, page=page.ref, brain=brain
        )
        return note.ref

    count = len(found.value.files)
    studied = await run.gather((study(index) for index in range(count)), failures="return")
    failures = [
        {"index": index, "reason": reason_of(outcome)}
        for index, outcome in enumerate(studied)
        if isinstance(outcome, StepFailed)
    ]
    notes = [outcome for outcome in studied if isinstance(outcome, ArtifactRef)]
    return await run.step(
        "report",
        REPORT,
        question=question,
        found=found.ref,
        notes=notes,
        failures=failures,
        brain=brain,
    )


def reason_of(failure: StepFailed) -> str:
    """Return why a step failed, for a reader: the last line of what was kept about it."""
    lines = failure.detail.strip().splitlines() or [failure.reason]
    named = _CLASS.match(lines[-1])
    if named is None:
        return lines[-1]
    message = lines[-1][named.end() :]
    return message if named.group(1) == "Permanent" else f"{message} ({named.group(1)})"
