"""Opening a home: to look at it, or to work in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from keptstep.models.errors import HomeNotWritable, NotFound, StoreError

if TYPE_CHECKING:
    from keptstep.config import Settings
    from keptstep.workflows.ports import ArtifactStore, TaskStore


class NoHome(NotFound):
    """There is no home at this place yet."""


@dataclass
class Reading:
    """The stores of a home that is only looked at."""

    settings: Settings
    store: TaskStore

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """The payloads."""
        from keptstep.models.stores.artifacts_fs import FileArtifactStore

        return FileArtifactStore(self.settings.blobs, self.settings.max_result)


def check_home(settings: Settings) -> None:
    """Raise ``NoHome`` where nothing was ever kept, ``SchemaNewer`` and its kin otherwise.

    Nothing is made and nothing is migrated: a typing error in ``--home`` leaves no folder.
    """
    from keptstep.models.migrations.runner import HEAD, check, version_of

    home, database = settings.home, settings.database
    if home.exists() and not home.is_dir():
        raise HomeNotWritable(f"the home {home} is not a folder: choose another with --home")
    try:
        if check(database, settings.busy_timeout):
            return
        version = version_of(database, settings.busy_timeout)
    except PermissionError:
        raise HomeNotWritable(
            f"the home {home} cannot be read: check who owns it, or choose another with --home"
        ) from None
    if version == 0:
        raise NoHome(
            f"there is no home at {home} yet: keptstep research makes one, --home names another"
        )
    raise StoreError(
        f"{database} was written by an older keptstep (schema {version}, this one wants {HEAD}): "
        "run keptstep migrate"
    )


@contextmanager
def reading(settings: Settings) -> Iterator[Reading]:
    """Open the stores of a home that is there; no worker is started."""
    check_home(settings)
    from keptstep.models.stores.clock import HostClock
    from keptstep.models.stores.sql import open_sql_store

    store = open_sql_store(
        settings.database,
        clock=HostClock(),
        busy_timeout=settings.busy_timeout,
        max_steps=settings.max_steps,
    )
    try:
        yield Reading(settings, store)
    finally:
        store.close()
