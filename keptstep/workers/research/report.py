"""The report: the brain's turn over all notes, its quotations compared, the page written."""

from __future__ import annotations

from keptstep.workers.research.evidence import Evidence, examine
from keptstep.workers.research.layout import document
from keptstep.workflows.brains import Brain, Material, Purpose, Turn

#: Quotes asked for, for each that the report has room for: some are alike, some do not stand.
_SPARE = 100


def write(evidence: Evidence, brain: Brain, extracts: int) -> str:
    """Return the report as Markdown, with at most ``extracts`` quotations."""
    materials = [Material(n.source.path, n.quotes, n.memory) for n in evidence.notes]
    turn = Turn(Purpose.REPORT, evidence.question, materials, extracts * _SPARE)
    answer = brain.turn(turn)
    examined = examine(answer.quotes, evidence.notes, extracts)
    return document(evidence, brain.label, answer, examined)
