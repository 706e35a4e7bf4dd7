"""Group commit: every writer of the process goes through one thread.

While one batch is being synced the next one gathers, so that eight callers at once cost about
one sync and not eight. Each caller has a SAVEPOINT of its own, so that one refused change takes
nothing else with it, and is answered only after the COMMIT has returned.

A COMMIT that raises leaves open whether it happened. The batch wrote its number into
``commit_mark``: a fresh connection reads it back and so knows.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, bindparam, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from keptstep.models.errors import CommitUnknown, StoreError
from keptstep.models.stores.engine import is_driver_error, told
from keptstep.models.stores.prepared import Prepared
from keptstep.models.tables import METADATA

if TYPE_CHECKING:
    from keptstep.workflows.ports import Clock

T = TypeVar("T")

_MARK = METADATA.tables["commit_mark"]
_SET_MARK = Prepared(
    update(_MARK)
    .where(_MARK.c.writer == bindparam("who"))
    .values(batch=bindparam("number"), at=bindparam("time"))
)
_MAX_BATCH = 256
_FORGET_AFTER = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Tx:
    """One caller's part of a transaction: the connection and the store's time."""

    connection: Connection
    now: float

    @property
    def integrity_error(self) -> type[Exception]:
        """What the driver raises when a row breaks a constraint."""
        dbapi: Any = self.connection.dialect.loaded_dbapi
        error: type[Exception] = dbapi.IntegrityError
        return error


def _changes(connection: Connection) -> int | None:
    """Return how many rows the driver's connection has changed so far, if the driver counts."""
    changes: int | None = getattr(connection.connection.driver_connection, "total_changes", None)
    return changes


@dataclass(slots=True)
class _Job:
    work: Callable[[Tx], Any]
    answer: Future[Any]


class Committer:
    """The one thread that writes to the database."""

    def __init__(self, engine: Engine, database: Path, clock: Clock) -> None:
        self._engine = engine
        self._database = database
        self._clock = clock
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._name = secrets.token_hex(16)
        self._batch = 0
        self._closed = False
        self._door = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[Tx], T]) -> T:
        """Run ``work`` in a transaction and return its value once that is durable.

        What ``work`` raises is raised here and changed nothing. Raises ``StoreError`` when the
        store could not do it, ``CommitUnknown`` when it cannot be known.
        """
        answer: Future[T] = Future()
        with self._door:  # so that nothing comes into the queue behind the end
            if self._closed:
                raise StoreError(f"the store of {self._database} is closed")
            if self._thread is None:
                self._begin()
            self._jobs.put(_Job(work, answer))
        return answer.result()

    def close(self) -> None:
        """Commit what was asked for so far, then stop the thread."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()
        self._engine.dispose()

    # -- the thread --------------------------------------------------------------------------
    def _serve(self) -> None:
        while True:
            batch, last = self._gather()
            if batch:
                self._commit(batch)
            if last:
                return

    def _gather(self) -> tuple[list[_Job], bool]:
        first = self._jobs.get()
        if first is None:
            return [], True
        batch = [first]
        while len(batch) < _MAX_BATCH:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return batch, True
            batch.append(job)
        return batch, False

    def _commit(self, batch: list[_Job]) -> None:
        answers: list[tuple[_Job, Any, BaseException | None]] = []
        try:
            with self._engine.connect() as connection:
                transaction = connection.begin()
                before = _changes(connection)
                try:
                    answers = [self._one(connection, job) for job in batch]
                    # A batch that changed nothing, such as refused claims, has nothing to sync.
                    if before is None or _changes(connection) != before:
                        self._batch += 1
                        self._mark(connection)
                except BaseException:
                    transaction.rollback()
                    raise
                self._end(transaction)
        except Exception as error:
            self._refuse(batch, error)
            return
        for job, value, refused in answers:
            if refused is None:
                job.answer.set_result(value)
            else:
                job.answer.set_exception(refused)

    def _one(self, connection: Connection, job: _Job) -> tuple[_Job, Any, Any]:
        """Run one caller's work; what it raises is its own unless the transaction is gone."""
        tx = Tx(connection, self._clock.now())
        driver = connection.connection.cursor()
        driver.execute("SAVEPOINT caller")
        try:
            value = job.work(tx)
        except Exception as error:
            driver.execute("ROLLBACK TO caller")
            driver.execute("RELEASE caller")
            if is_driver_error(error):  # its text may repeat the parameters
                error = told(error, self._database)
            return job, None, error
        driver.execute("RELEASE caller")
        return job, value, None

    def _end(self, transaction: Any) -> None:
        try:
            transaction.commit()
        except Exception as error:
            if not self._read_back():
                raise told(error, self._database) from error

    def _read_back(self) -> bool:
        """Whether the batch whose COMMIT raised is in the database after all."""
        try:
            self._engine.dispose()
            with self._engine.connect() as connection:
                query = select(_MARK.c.batch).where(_MARK.c.writer == self._name)
                found = connection.execute(query).scalar()
        except Exception as error:
            raise CommitUnknown(
                f"a commit to {self._database} failed and could not be read back: look at the "
                "disk, then resume"
            ) from error
        return found == self._batch

    def _refuse(self, batch: list[_Job], error: Exception) -> None:
        known = error if isinstance(error, StoreError) else told(error, self._database)
        for job in batch:
            job.answer.set_exception(known)

    def _mark(self, connection: Connection) -> None:
        now = self._clock.now()
        marked = _SET_MARK.run(connection, who=self._name, number=self._batch, time=now)
        if marked.rowcount == 0:  # forgotten by another process: this one was idle for long
            row = {"writer": self._name, "batch": self._batch, "at": now}
            connection.execute(insert(_MARK).values(**row))

    def _begin(self) -> None:
        """Register and start: with the first write, so that who only reads never waits."""
        self._register()
        name = "keptstep-commit"
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def _register(self) -> None:
        now = self._clock.now()
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(_MARK).where(_MARK.c.at < now - _FORGET_AFTER))
                connection.execute(insert(_MARK).values(writer=self._name, batch=0, at=now))
        except DBAPIError as error:
            raise told(error, self._database) from None
