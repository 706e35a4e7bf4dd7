"""A module that starts a thread when it is loaded, as some libraries do: it cannot be forked."""

from keptstep import tool
from tests.crash.odd import begin


@tool(effect="side effect")
def act() -> str:
    """Act."""
    return "acted"


begin()
