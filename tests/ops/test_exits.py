"""Every error leads to its exit code, and every exit code to a meaning."""

from __future__ import annotations

import pytest

from keptstep.models import errors
from keptstep.ops.exits import ExitCode, code_of, epilog


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadInput("x"), 2),
        (errors.NotSerializable("x"), 2),
        (errors.TooLarge("x"), 2),
        (errors.KeyConflict("x"), 2),
        (errors.IllegalMove("x"), 2),
        (errors.NotFound("x"), 3),
        (errors.Ambiguous("x"), 3),
        (errors.TaskFailed("x"), 1),
        (errors.StepFailed("step", "x"), 1),
        (errors.TaskBlocked("x"), 4),
        (errors.PlanDifference("x"), 4),
        (errors.StoreError("x"), 5),
        (errors.StoreBusy("x"), 5),
        (errors.SchemaNewer("x"), 5),
        (errors.StoreDamaged("x"), 5),
        (errors.HomeNotWritable("x"), 5),
        (errors.CommitUnknown("x"), 5),
        (errors.ArtifactMissing("x"), 5),
        (errors.ArtifactCorrupt("x"), 5),
        (errors.LeaseLost("x"), 70),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_an_error_has_its_code(error: errors.KeptstepError, code: int) -> None:
    assert code_of(error) == code


def test_the_help_lists_the_codes_in_order() -> None:
    first, title, *lines = epilog().splitlines()
    assert (first, title) == ("\b", "Exit codes:")
    numbers = [int(line.split()[0]) for line in lines]
    assert numbers == sorted(numbers)
    assert {ExitCode.OK, ExitCode.UNEXPECTED, ExitCode.BROKEN_PIPE} <= set(numbers)
