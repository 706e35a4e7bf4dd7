"""keptstep keeps what brains have already done: durable workflows on a job queue.

The public names load on first use, so that importing the kernel never imports a queue or
a database.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keptstep.app import App as App
    from keptstep.config import Settings as Settings
    from keptstep.models.artifacts import ArtifactClass as ArtifactClass
    from keptstep.models.artifacts import ArtifactRef as ArtifactRef
    from keptstep.models.artifacts import Effect as Effect
    from keptstep.models.errors import BadInput as BadInput
    from keptstep.models.errors import KeptstepError as KeptstepError
    from keptstep.models.errors import KeyConflict as KeyConflict
    from keptstep.models.errors import NotFound as NotFound
    from keptstep.models.errors import NotSent as NotSent
    from keptstep.models.errors import Permanent as Permanent
    from keptstep.models.errors import Refused as Refused
    from keptstep.models.errors import StepFailed as StepFailed
    from keptstep.models.errors import StoreError as StoreError
    from keptstep.models.errors import TaskBlocked as TaskBlocked
    from keptstep.models.errors import TaskFailed as TaskFailed
    from keptstep.models.errors import WaitTimeout as WaitTimeout
    from keptstep.workflows.definition import Context as Context
    from keptstep.workflows.definition import Registry as Registry
    from keptstep.workflows.definition import Tool as Tool
    from keptstep.workflows.definition import Workflow as Workflow
    from keptstep.workflows.definition import tool as tool
    from keptstep.workflows.definition import workflow as workflow
    from keptstep.workflows.handle import Handle as Handle
    from keptstep.workflows.retry import RetryPolicy as RetryPolicy
    from keptstep.workflows.run import Run as Run
    from keptstep.workflows.values import Payload as Payload
    from keptstep.workflows.values import Result as Result

#: Public name -> the module that defines it.
_EXPORTS: dict[str, str] = {
    "App": "keptstep.app",
    "ArtifactClass": "keptstep.models.artifacts",
    "ArtifactRef": "keptstep.models.artifacts",
    "BadInput": "keptstep.models.errors",
    "Context": "keptstep.workflows.definition",
    "Effect": "keptstep.models.artifacts",
    "Handle": "keptstep.workflows.handle",
    "KeptstepError": "keptstep.models.errors",
    "KeyConflict": "keptstep.models.errors",
    "NotFound": "keptstep.models.errors",
    "NotSent": "keptstep.models.errors",
    "Payload": "keptstep.workflows.values",
    "Permanent": "keptstep.models.errors",
    "Refused": "keptstep.models.errors",
    "Registry": "keptstep.workflows.definition",
    "Result": "keptstep.workflows.values",
    "RetryPolicy": "keptstep.workflows.retry",
    "Run": "keptstep.workflows.run",
    "Settings": "keptstep.config",
    "StepFailed": "keptstep.models.errors",
    "StoreError": "keptstep.models.errors",
    "TaskBlocked": "keptstep.models.errors",
    "TaskFailed": "keptstep.models.errors",
    "Tool": "keptstep.workflows.definition",
    "WaitTimeout": "keptstep.models.errors",
    "Workflow": "keptstep.workflows.definition",
    "tool": "keptstep.workflows.definition",
    "workflow": "keptstep.workflows.definition",
}

__all__ = ["__version__", *_EXPORTS]  # noqa: PLE0604 - the table above holds plain strings


def __getattr__(name: str) -> Any:
    """Return the public name `name`, loaded from the module that defines it.

    Raises AttributeError for a name that is not public.
    """
    if name == "__version__":
        return _version()
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _version() -> str:
    """Return the version of the installed distribution, or "0+unknown" in a bare checkout."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("keptstep")
    except PackageNotFoundError:
        return "0+unknown"
