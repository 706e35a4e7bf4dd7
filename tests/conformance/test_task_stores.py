"""Every suite over every task store that comes with keptstep."""

from __future__ import annotations

import tempfile
from pathlib import Path

from keptstep.models.stores.memory import MemoryTaskStore
from keptstep.models.stores.sql import open_sql_store
from keptstep.testing.clock import FakeClock
from keptstep.testing.conformance_base import StoreSuite
from keptstep.testing.conformance_tasks import TASK_STORE_SUITES
from keptstep.workflows.ports import TaskStore
from tests.template import new_database


class Memory(StoreSuite):
    def make_store(self, clock: FakeClock) -> TaskStore:
        return MemoryTaskStore(clock, max_steps=self.max_steps)


class Sqlite(StoreSuite):
    def make_store(self, clock: FakeClock) -> TaskStore:
        self.folder = tempfile.TemporaryDirectory()
        database = new_database(Path(self.folder.name, "keptstep.db"))
        return open_sql_store(database, clock=clock, max_steps=self.max_steps)

    def teardown_method(self) -> None:
        super().teardown_method()
        if self._store is not None:
            self.folder.cleanup()


for suite in TASK_STORE_SUITES:
    for backend in (Memory, Sqlite):
        name = f"Test{backend.__name__}{suite.__name__.removesuffix('Suite')}"
        globals()[name] = type(name, (backend, suite), {"__module__": __name__})
