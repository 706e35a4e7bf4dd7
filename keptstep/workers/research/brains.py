"""The brains a report can be asked of, by the words of ``--brain``."""

from __future__ import annotations

from collections.abc import Callable

from keptstep.models.errors import BadInput
from keptstep.workers.research.extractive import Extractive
from keptstep.workflows.brains import Brain

#: What comes before the first colon of a specification -> how to make the brain from the rest.
_KNOWN: dict[str, Callable[[str], Brain]] = {"extractive": lambda rest: Extractive()}


def resolve(spec: str) -> Brain:
    """Return the brain a specification names; raises ``BadInput`` listing the known ones."""
    name, _, rest = spec.partition(":")
    make = _KNOWN.get(name)
    if make is None:
        raise BadInput(f"no brain is named {spec!r}; known here: {', '.join(sorted(_KNOWN))}")
    return make(rest)
