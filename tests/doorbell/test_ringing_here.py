"""When Redis does not take what it is told: what comes back, how it is told of, how it ends."""

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keptstep.models.errors import HomeNotWritable
from keptstep.workers.lease_broker.naming import home_name
from keptstep.workers.lease_broker.outage import Outage
from keptstep.workers.lease_broker.script import Op
from keptstep.workers.lease_broker.sender import BACKLOG, BATCH, Sender
from tests.waiting import until


class Server:
    """Takes ops, or fails while `error` is set; waits while `hold` is not set."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.back: list[str] = []
        self.error: Exception | None = None
        self.hold = threading.Event()
        self.hold.set()
        self.asked = threading.Event()
        self.asks = 0

    def send(self, ops: Sequence[Op]) -> None:
        self.asks += 1
        self.asked.set()
        assert self.hold.wait(20)
        if self.error is not None:
            raise self.error
        self.batches.append([op.digits for op in ops])

    def failed(self, ops: Sequence[Op]) -> None:
        self.back += [op.digits for op in ops]

    @property
    def got(self) -> list[str]:
        return [digits for batch in self.batches for digits in batch]


@pytest.fixture
def server() -> Server:
    return Server()


def sender(server: Server, outage: Outage) -> Sender:
    made = Sender(server.send, server.failed, outage)
    made.start()
    return made


def test_everything_is_told_in_its_order_in_batches(server: Server) -> None:
    telling = sender(server, Outage("here"))
    server.hold.clear()
    ops = [Op("ring", f"{n}", "read") for n in range(1000)]
    assert all(telling.put(op) for op in ops)
    server.hold.set()
    telling.stop(20)
    assert server.got == [op.digits for op in ops]
    assert max(map(len, server.batches)) == BATCH


def test_what_was_taken_and_cannot_be_told_comes_back_and_nothing_more_is_taken(
    server: Server,
) -> None:
    outage = Outage("here")
    telling = sender(server, outage)
    server.hold.clear()
    server.error = TimeoutError("no answer")
    assert telling.put(Op("ring", "0", "read"))
    assert server.asked.wait(20)
    assert all(telling.put(Op("ring", f"{n}", "read")) for n in range(1, 600))
    server.hold.set()
    until(lambda: len(server.back) == 600, "all of them came back")
    assert server.back == [f"{n}" for n in range(600)]
    assert server.asks == 1, "a server that does not answer is not asked for each batch"
    assert not telling.put(Op("ring", "later", "read"))
    server.error = None
    outage.answered()
    assert telling.put(Op("ring", "again", "read"))
    telling.stop(20)
    assert server.got == ["again"]


def test_the_backlog_is_bounded(server: Server) -> None:
    telling = sender(server, Outage("here"))
    server.hold.clear()
    assert telling.put(Op("ring", "first", "read"))
    assert server.asked.wait(20)
    taken = sum(telling.put(Op("ring", f"{n}", "read")) for n in range(BACKLOG + 100))
    assert taken == BACKLOG
    server.hold.set()
    telling.stop(20)


def test_an_outage_is_told_of_once_and_asked_about_less_and_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = [1000.0]
    outage = Outage("here:6379", lambda: clock[0])
    pauses = []
    for _ in range(8):
        outage.failed(ConnectionError("secret in its text"))
        pauses.append(round(outage.seconds, 3))
        clock[0] += outage.seconds
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]
    outage.answered()
    outage.answered()
    for _ in range(50):  # a flapping server
        outage.failed(ConnectionError())
        outage.answered()
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "here:6379 is away (ConnectionError)" in said[0]
    assert "back after 9.1 s" in said[1]
    assert "secret" not in caplog.text


def test_a_quiet_minute_later_an_outage_is_told_of_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    clock = [1000.0]
    outage = Outage("here", lambda: clock[0])
    for _ in range(2):
        outage.failed(ConnectionError())
        outage.answered()
        clock[0] += 61
    assert len(caplog.records) == 4


def test_all_who_ask_at_once_for_the_name_of_a_home_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        names = set(pool.map(home_name, [tmp_path] * 64))
    assert len(names) == 1
    assert names == {home_name(tmp_path)}
    assert [path.name for path in tmp_path.iterdir()] == ["doorbell"]


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"0123", b"{evil}:tool"])
def test_a_damaged_name_is_replaced(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "doorbell").write_bytes(damage)
    name = home_name(tmp_path)
    assert len(name) == 16
    assert home_name(tmp_path) == name


def test_a_home_that_cannot_keep_a_name_says_so(tmp_path: Path) -> None:
    with pytest.raises(HomeNotWritable, match="cannot keep its name for Redis"):
        home_name(tmp_path / "not there")
