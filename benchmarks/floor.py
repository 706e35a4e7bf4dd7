"""The floor: what this disk gives to the same writes with no engine around them.

One step here is what the protocol cannot do without: a commit that says it started, a synced file
named by its hash in a synced folder, a commit that says it is done.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue

DDL = """
CREATE TABLE step(id INTEGER PRIMARY KEY, status TEXT, owner TEXT, until REAL, sha TEXT);
CREATE TABLE event(id INTEGER PRIMARY KEY, step INTEGER, kind TEXT, at REAL);
"""


def connect(place: Path) -> sqlite3.Connection:
    """Open a database that is durable at every commit."""
    connection = sqlite3.connect(place / "floor.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def keep(place: Path, data: bytes) -> str:
    """Keep a payload as a synced file in a synced folder."""
    sha = hashlib.sha256(data).hexdigest()
    temporary = place / f"tmp-{sha}"
    file = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    os.write(file, data)
    os.fsync(file)
    os.close(file)
    folder = place / sha[:2]
    os.replace(temporary, folder / sha)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return sha


def started(connection: sqlite3.Connection, step: int) -> None:
    """Write that a step started."""
    connection.execute("INSERT INTO step VALUES (?, 'running', 'me', 1.0, NULL)", (step,))
    connection.execute("INSERT INTO event(step, kind, at) VALUES (?, 'started', 1.0)", (step,))


def done(connection: sqlite3.Connection, step: int, sha: str) -> None:
    """Write that a step is done."""
    connection.execute("UPDATE step SET status='done', owner=NULL, sha=? WHERE id=?", (sha, step))
    connection.execute("INSERT INTO event(step, kind, at) VALUES (?, 'done', 1.0)", (step,))


def prepare(place: Path) -> None:
    """Make the tables and folders."""
    connection = connect(place)
    connection.executescript(DDL)
    connection.close()
    for number in range(256):
        (place / f"{number:02x}").mkdir()
    os.sync()


def alone(place: Path, steps: int, size: int) -> float:
    """Return steps a second of one caller, two commits and a file each."""
    prepare(place)
    connection = connect(place)
    begin = time.perf_counter()
    for step in range(steps):
        connection.execute("BEGIN IMMEDIATE")
        started(connection, step)
        connection.execute("COMMIT")
        sha = keep(place, payload(step, size))
        connection.execute("BEGIN IMMEDIATE")
        done(connection, step, sha)
        connection.execute("COMMIT")
    rate = steps / (time.perf_counter() - begin)
    connection.close()
    return rate


def together(place: Path, steps: int, size: int, callers: int = 8) -> float:
    """Return steps a second of ``callers`` that share one committing thread."""
    prepare(place)
    jobs: SimpleQueue[tuple[object, threading.Event] | None] = SimpleQueue()
    writer = threading.Thread(target=_write, args=(place, jobs))
    writer.start()
    numbers = iter(range(steps))
    lock = threading.Lock()

    def commit(change: object) -> None:
        answered = threading.Event()
        jobs.put((change, answered))
        answered.wait()

    def caller() -> None:
        while True:
            with lock:
                step = next(numbers, None)
            if step is None:
                return
            commit(lambda c, s=step: started(c, s))
            sha = keep(place, payload(step, size))
            commit(lambda c, s=step, h=sha: done(c, s, h))

    threads = [threading.Thread(target=caller) for _ in range(callers)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = steps / (time.perf_counter() - begin)
    jobs.put(None)
    writer.join()
    return rate


def payload(step: int, size: int) -> bytes:
    """Return ``size`` bytes that differ from step to step."""
    return f"{step:012d}".encode().ljust(size, b"x")


def _write(place: Path, jobs: SimpleQueue[tuple[object, threading.Event] | None]) -> None:
    connection = connect(place)
    while True:
        batch = _gather(jobs)
        wanted = [job for job in batch if job is not None]
        connection.execute("BEGIN IMMEDIATE")
        for change, _ in wanted:
            change(connection)  # type: ignore[operator]
        connection.execute("COMMIT")
        for _, answered in wanted:
            answered.set()
        if len(wanted) < len(batch):
            connection.close()
            return


def _gather(
    jobs: SimpleQueue[tuple[object, threading.Event] | None],
) -> list[tuple[object, threading.Event] | None]:
    batch = [jobs.get()]
    while True:
        try:
            batch.append(jobs.get_nowait())
        except Empty:
            return batch
