"""keptstep keeps what brains have already done: durable workflows on a job queue.

The public names load on first use, so that importing the kernel never imports a queue or
a database.
"""

from importlib import import_module
from typing import Any

#: Public name -> the module that defines it.
_EXPORTS: dict[str, str] = {}

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
