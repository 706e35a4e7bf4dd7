"""What a crash test is about: found by its name, with every call of its tools counted."""

from __future__ import annotations

import functools
import importlib
import json
import os
import threading
from dataclasses import asdict, replace
from typing import Any

from keptstep.models.errors import BadInput
from keptstep.testing.crash.records import Called, Subject
from keptstep.workflows.definition import REGISTRY, Context, Tool, Workflow

_CALL = "_crash_test_call"  #: the parameter through which a wrapper sees which call it is

Target = Tool[..., Any] | Workflow[..., Any]


def find(target: str) -> Target:
    """Return the tool or workflow that ``module:name`` means; raises ``BadInput``."""
    module, colon, name = target.partition(":")
    if not colon or not module or not name:
        raise BadInput(f"{target!r} does not name a tool: write MODULE:TOOL")
    found = getattr(_imported(module), name, None)
    if found is None:
        found = REGISTRY.tools.get(name) or REGISTRY.workflows.get(name)
    if not isinstance(found, Tool | Workflow):
        raise BadInput(f"{target} is no tool and no workflow: is it made with @tool?")
    return found


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise BadInput(f"there is no module {module}, here or installed") from None
        raise BadInput(f"the module {module} needs {error.name}, which is not there") from None
    except Exception as error:
        kind = type(error).__name__
        raise BadInput(
            f"the module {module} could not be loaded ({kind}): python -c 'import {module}' "
            "shows why"
        ) from None


def subject_of(target: str, found: Target) -> Subject:
    """Return what is told about a target."""
    forks = _threads() == 1
    if isinstance(found, Workflow):
        return Subject(target, "workflow", found.name, forks=forks)
    return Subject(
        target,
        "tool",
        found.name,
        effect=str(found.effect),
        artifact_class=int(found.artifact_class),
        takes_key=found.signature.context is not None,
        has_probe=getattr(found, "probe", None) is not None,
        forks=forks,
    )


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))  # those of libraries in C too
    except OSError:
        return threading.active_count()


def count_calls(path: str) -> None:
    """Have every call of every tool noted in ``path``, one line in one write, as it begins."""
    for name, tool in list(REGISTRY.tools.items()):
        REGISTRY.tools[name] = counted(tool, path)


def counted(tool: Tool[..., Any], path: str) -> Tool[..., Any]:
    """Return the tool with its calls noted before its own code begins."""
    own = tool.signature.context
    function = tool.function

    def note(given: dict[str, Any]) -> dict[str, Any]:
        context: Context = given[own] if own is not None else given.pop(_CALL)
        call = Called(context.step_name, context.idempotency_key, context.attempt)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.writev(file, [(json.dumps(asdict(call)) + "\n").encode()])
        os.close(file)
        return given

    @functools.wraps(function)
    def called(**given: Any) -> Any:
        return function(**note(given))

    @functools.wraps(function)
    async def called_async(**given: Any) -> Any:
        return await function(**note(given))

    return replace(
        tool,
        function=called_async if tool.is_async else called,
        signature=replace(tool.signature, context=own or _CALL),
    )
