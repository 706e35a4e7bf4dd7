"""Settings: read once, from arguments or from ``KEPTSTEP_*`` variables."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from platformdirs import user_data_path

from keptstep.models.errors import BadInput

PREFIX = "KEPTSTEP_"


def default_home() -> Path:
    """Return the platform's folder for a user's data, with our name."""
    return user_data_path("keptstep", appauthor=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Times are in seconds, sizes in bytes."""

    home: Path
    workers: int = 8  #: steps run side by side in one process
    lease: float = 15.0  #: how long a silent worker keeps its step (D5)
    sweep: float = 1.0  #: how often lost work is looked for
    busy_timeout: float = 10.0  #: how long to wait for another process's write
    max_result: int = 1 << 30  #: the largest result that is kept
    max_steps: int = 100_000  #: steps of one task (D32)
    park_after: float = 30.0  #: how long a waiting function stays in memory without news
    grace: float = 5.0  #: how long a planned shutdown waits for running steps
    #: a Redis server through which worker processes share their steps: redis://, rediss://
    #: or unix://; without one each finds them by itself. May hold a password: never shown.
    redis_url: str = field(default="", repr=False)
    #: called with a JSON document on stdin when something waits for a person; words as a shell
    #: splits them, but no shell. May hold a secret, as the address may: never shown.
    notify_command: str = field(default="", repr=False)
    notify_url: str = field(default="", repr=False)  #: where that is posted to instead: https://

    def __post_init__(self) -> None:
        """Refuse numbers that would make the engine stand still, and what is no address."""
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(one.default, int | float) and not 0 < value < math.inf:
                name = PREFIX + one.name.upper()
                raise BadInput(f"the setting {name} must be above 0, not {value}")
        if self.redis_url:
            _check_address("REDIS_URL", self.redis_url, ("redis", "rediss", "unix"))
        if self.notify_url:
            _check_address("NOTIFY_URL", self.notify_url, ("http", "https"), host=True)
        _check_notify(self.notify_command, self.notify_url)

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.home / "keptstep.db"

    @property
    def blobs(self) -> Path:
        """The folder of payloads."""
        return self.home / "blobs"

    @property
    def worker_locks(self) -> Path:
        """The folder in which every living worker holds a file lock."""
        return self.home / "workers"

    @classmethod
    def load(
        cls,
        home: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        **given: Any,
    ) -> Settings:
        """Build the settings: what is given, else ``KEPTSTEP_<NAME>``, else the default.

        Raises ``BadInput`` for a variable that is not a number.
        """
        env = os.environ if environ is None else environ
        place = Path(home or env.get(PREFIX + "HOME") or default_home()).expanduser().absolute()
        read: dict[str, Any] = {}
        for one in fields(cls):
            text = env.get(PREFIX + one.name.upper())
            if one.name != "home" and text:
                read[one.name] = _value(one.name, text, one.default)
        return cls(home=place, **(read | given))


def _check_address(name: str, url: str, schemes: tuple[str, ...], *, host: bool = False) -> None:
    """Refuse what is no address, without quoting it: it may hold a password."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in schemes and (parts.port is None or parts.port > 0)
        known = known and bool(parts.hostname or not host)
    except ValueError:
        known = False
    if not known:
        begins = " or ".join(f"{scheme}://" for scheme in schemes)
        raise BadInput(f"{PREFIX}{name} must be an address that begins with {begins}") from None


def _check_notify(command: str, url: str) -> None:
    """Refuse a command that cannot be split, and two ways at once: each thing is told once."""
    if command and url:
        raise BadInput(f"{PREFIX}NOTIFY_COMMAND and {PREFIX}NOTIFY_URL are both set: keep one")
    try:
        words = shlex.split(command)
    except ValueError as error:
        said = str(error).lower()  # about quotes; it quotes nothing
        raise BadInput(f"{PREFIX}NOTIFY_COMMAND cannot be split into words: {said}") from None
    if command and not (words and words[0]):
        raise BadInput(f"{PREFIX}NOTIFY_COMMAND names no program")


def _value(name: str, text: str, default: object) -> float | int | str:
    if isinstance(default, str):
        return text
    try:
        return int(text) if isinstance(default, int) else float(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise BadInput(f"{PREFIX}{name.upper()} must be {kind}, not {text!r}") from None
