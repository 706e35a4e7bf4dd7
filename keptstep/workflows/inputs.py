"""How a call's arguments are kept, and how two plans for one step name are told apart."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keptstep.models.artifacts import JSON_TYPE, ArtifactClass, ArtifactRef
from keptstep.models.canonical import MAX_LITERAL, Arguments
from keptstep.models.ids import ArtifactId
from keptstep.models.records import NewArtifact, Step, Task
from keptstep.workflows.ports import ArtifactStore


@dataclass(frozen=True, slots=True)
class KeptInput:
    """A call's arguments as a row holds them: a short literal, or an artifact."""

    literal: str | None
    artifact: NewArtifact | None


class Inputs:
    """Keeps arguments and reads them back."""

    def __init__(self, artifacts: ArtifactStore, new_id: Callable[[], bytes]) -> None:
        self._artifacts = artifacts
        self._new_id = new_id

    def keep(self, arguments: Arguments, *, as_file: bool) -> KeptInput:
        """Keep arguments in the row when they are short, else in a file (D49).

        ``as_file`` asks for the file whatever the size: where a value may come from a result,
        which must not stand in a row (R28), and where the input is to be an artifact's source.
        """
        document = arguments.document()
        if not as_file and len(document) <= MAX_LITERAL:
            return KeptInput(document, None)
        blob = self._artifacts.put([document.encode()])
        identity = ArtifactId(self._new_id())
        ref = ArtifactRef(identity, blob.sha, ArtifactClass.SNAPSHOT, JSON_TYPE, blob.size)
        return KeptInput(None, NewArtifact(ref))

    def read(self, row: Step | Task, record: Callable[[ArtifactId], ArtifactRef]) -> Arguments:
        """Return the arguments of a step or task; ``record`` looks an artifact up."""
        if row.input is not None:
            return Arguments.of_document(row.input)
        if row.input_id is None:
            return Arguments({})
        return Arguments.of_document(self._artifacts.read(record(row.input_id).sha))


def difference(step: Step, was: Arguments, tool: str, now: Arguments) -> tuple[str, str]:
    """Return what changed about a planned step: one line without values, and the whole diff.

    The line names parameters only and may stand in a row; the diff shows values and is kept as
    an artifact.
    """
    changed = [] if step.tool == tool else [f"tool {step.tool} is now {tool}"]
    changed += [f"input {name}" for name in _changed_names(was, now)]
    line = f"step {step.name} was planned before and comes back changed: {', '.join(changed)}"
    before, after = _lines(step.tool, was), _lines(tool, now)
    diff = difflib.unified_diff(before, after, "as planned", "as asked for now", lineterm="", n=99)
    return line, "\n".join([line, "", *diff, ""])


def _changed_names(was: Arguments, now: Arguments) -> list[str]:
    refs = {ref.path[0]: ref.sha for ref in was.refs}, {ref.path[0]: ref.sha for ref in now.refs}
    names = sorted({*was.values, *now.values})
    return [
        name
        for name in names
        if json.dumps(was.values.get(name, _ABSENT), sort_keys=True)
        != json.dumps(now.values.get(name, _ABSENT), sort_keys=True)
        or refs[0].get(name) != refs[1].get(name)
    ]


_ABSENT = ["absent"]


def _lines(tool: str, arguments: Arguments) -> list[str]:
    shown: dict[str, Any] = {"tool": tool, "inputs": arguments.values}
    if arguments.refs:
        shown["results"] = {
            ".".join(str(part) for part in ref.path): f"artifact {ref.id.hex()} sha {ref.sha}"
            for ref in arguments.refs
        }
    return json.dumps(shown, indent=2, sort_keys=True).splitlines()
