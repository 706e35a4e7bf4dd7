"""The command line with its tool calls counted: ``python -m tests.crash.counted COUNTS ARGS``.

Each call of a tool appends ``TASK STEP`` to COUNTS in one write, before the tool itself runs.
"""

import os
import runpy
import sys
from typing import Any

import keptstep.workers.research.tools  # noqa: F401 - makes the tools known
from keptstep.workers.runner import LocalRunner


def main(counts: str, arguments: list[str]) -> None:
    """Count, then become the command line."""
    file = os.open(counts, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    called = LocalRunner._called

    def counting(runner: LocalRunner, step: Any, *given: Any) -> Any:
        os.write(file, f"{step.name}\n".encode())
        return called(runner, step, *given)

    patched: Any = LocalRunner
    patched._called = counting
    sys.argv = ["keptstep", *arguments]
    runpy.run_module("keptstep", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
