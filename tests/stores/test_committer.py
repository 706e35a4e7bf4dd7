"""The committing thread: each caller for itself, answered after the COMMIT, never in doubt."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from keptstep.models.errors import CommitUnknown, StoreError
from keptstep.models.migrations.runner import migrate
from keptstep.models.stores.committer import Committer, Tx
from keptstep.models.stores.engine import writer_engine
from keptstep.testing.clock import FakeClock

Make = Callable[[], Committer]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "keptstep.db"
    migrate(path)
    return path


@pytest.fixture
def engine(database: Path) -> Iterator[Any]:
    made = writer_engine(database, 1.0)
    yield made
    made.dispose()


@pytest.fixture
def committer(engine: Any, database: Path) -> Iterator[Committer]:
    made = Committer(engine, database, FakeClock())
    made.run(lambda tx: None)  # it registers with its first write
    yield made
    made.close()


def talk(number: int) -> Callable[[Tx], None]:
    """Return work that adds a conversation."""

    def work(tx: Tx) -> None:
        tx.connection.execute(
            text("INSERT INTO conversation(id, created_at) VALUES (:id, 1)"),
            {"id": number.to_bytes(16, "big")},
        )

    return work


def count(committer: Committer) -> int:
    """Return how many conversations there are."""
    found = committer.run(
        lambda tx: tx.connection.execute(text("SELECT count(*) FROM conversation")).scalar()
    )
    return int(found or 0)


def test_what_one_caller_raises_takes_nothing_of_the_others(committer: Committer) -> None:
    gate = threading.Event()
    blocked = threading.Thread(target=lambda: committer.run(lambda tx: gate.wait(10)))
    blocked.start()  # everything below gathers behind this one and goes into one batch
    outcomes: dict[int, str] = {}

    def call(number: int) -> None:
        def work(tx: Tx) -> None:
            talk(number)(tx)
            if number % 3 == 0:
                raise ValueError(number)

        try:
            committer.run(work)
            outcomes[number] = "kept"
        except ValueError:
            outcomes[number] = "refused"

    threads = [threading.Thread(target=call, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in [*threads, blocked]:
        thread.join()
    assert outcomes == {n: "refused" if n % 3 == 0 else "kept" for n in range(12)}
    assert count(committer) == 8


def test_a_commit_that_raises_after_it_happened_is_read_back_and_answered(
    committer: Committer, engine: Any
) -> None:
    fail_commits(engine, after=True)
    committer.run(talk(1))
    assert count(committer) == 1


def test_a_commit_that_raises_before_it_happened_is_an_error_and_changed_nothing(
    committer: Committer, engine: Any
) -> None:
    fail_commits(engine, after=False)
    with pytest.raises(StoreError):
        committer.run(talk(1))
    assert count(committer) == 0
    committer.run(talk(2))
    assert count(committer) == 1


def test_a_commit_that_cannot_be_read_back_says_that_it_is_not_known(
    committer: Committer, engine: Any
) -> None:
    fail_commits(engine, after=True)

    def refuse(*_: object) -> None:
        raise OSError("the disk is gone")

    event.listen(engine, "connect", refuse)
    with pytest.raises(CommitUnknown):
        committer.run(talk(1))
    event.remove(engine, "connect", refuse)
    assert count(committer) == 1


def test_after_the_end_nothing_is_taken(committer: Committer) -> None:
    committer.run(talk(1))
    committer.close()
    with pytest.raises(StoreError, match="closed"):
        committer.run(talk(2))


def fail_commits(engine: Any, *, after: bool) -> None:
    """Have the next COMMIT of the engine raise, before or after it was carried out."""
    left = [1]
    do_commit = engine.dialect.do_commit

    def failing(connection: Any) -> None:
        if left:
            left.clear()
            if after:
                do_commit(connection)
            raise OSError("the answer was lost")
        do_commit(connection)

    engine.dialect.do_commit = failing
