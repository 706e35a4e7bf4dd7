"""Who decided something, and why: what operators write into the log."""

from __future__ import annotations

from keptstep.models.errors import BadInput

_MAX_NAME = 100
_MAX_WHY = 1000


def checked_person(by: str, why: str) -> tuple[str, str]:
    """Return name and reason without space around them; raises ``BadInput``."""
    by, why = by.strip(), why.strip()
    if not 0 < len(by) <= _MAX_NAME:
        raise BadInput(f"--by needs a name of 1 to {_MAX_NAME} characters")
    if not 0 < len(why) <= _MAX_WHY:
        raise BadInput(f"--why needs a reason of 1 to {_MAX_WHY} characters")
    for text in (by, why):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadInput("--by and --why have to be readable text") from None
    return by, why
