"""One process's queue on a real server: what is rung is run, once, and by whom."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from keptstep import Settings
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.workers.broker import StepQueue
from keptstep.workers.lease_broker.doorbell import Ears, redis_queue
from keptstep.workers.lease_broker.naming import home_name
from keptstep.workers.lease_broker.script import Layout
from keptstep.workers.lease_broker.server import connect
from tests.doorbell.conftest import step, step_id
from tests.waiting import until

Open = Callable[..., StepQueue]


class Ran:
    """What a queue ran, in order; `hold` keeps the next runs inside until it is set."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.hold = threading.Event()
        self.hold.set()
        self.during: Callable[[StepId], None] = lambda _step_id: None

    def __call__(self, one: StepId) -> None:
        self.steps.append(int.from_bytes(one))
        self.during(one)
        assert self.hold.wait(30)


@pytest.fixture
def queue(redis_url: str, tmp_path: Path) -> Iterator[Open]:
    """Return a function that starts a process's queue; all of them share a home."""
    opened: list[StepQueue] = []

    def opening(
        ran: Callable[[StepId], None],
        tools: tuple[str, ...] = ("read",),
        *,
        heard: Callable[[TaskId], None] = lambda _task_id: None,
        workers: int = 4,
    ) -> StepQueue:
        settings = Settings.load(tmp_path, {}, redis_url=redis_url, workers=workers)
        ears = Ears(lambda: tools, ran, heard, lambda: None)
        made = redis_queue(connect(redis_url), settings, WorkerId(f"w{len(opened)}"), ears)
        made.start()
        opened.append(made)
        return made

    yield opening
    for one in opened:
        one.stop(1.0)


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url, protocol=2) as made:
        yield made


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(home_name(tmp_path))


def test_what_is_rung_is_run(queue: Open) -> None:
    ran = Ran()
    ringing = queue(ran)
    for number in range(100):
        ringing.ring(step_id(number), "read")
    until(lambda: len(ran.steps) == 100, "all steps ran")
    assert sorted(ran.steps) == list(range(100))


def test_another_process_runs_what_this_one_has_no_room_for(queue: Open) -> None:
    here, there = Ran(), Ran()
    here.hold.clear()
    ringing = queue(here, workers=1)
    ringing.ring(step_id(1), "read")
    until(lambda: here.steps == [1], "the only place is taken")
    queue(there)
    ringing.ring(step_id(2), "read")
    until(lambda: there.steps == [2], "the other process runs it")
    here.hold.set()


def test_a_step_goes_to_a_process_that_knows_its_tool(queue: Open) -> None:
    reads, sends = Ran(), Ran()
    ringing = queue(reads, ("read",))
    for number in range(20):
        ringing.ring(step_id(number), "send")
    ringing.ring(step_id(50), "read")
    until(lambda: reads.steps == [50], "what it knows was run")
    queue(sends, ("send",))
    until(lambda: len(sends.steps) == 20, "the others were run by the other process")
    assert reads.steps == [50]


def test_a_step_that_is_rung_while_it_runs_runs_once_more(queue: Open) -> None:
    ran = Ran()
    ringing = queue(ran)

    def ring_again(one: StepId) -> None:
        if len(ran.steps) == 1:
            for _ in range(100):
                ringing.ring(one, "read")

    ran.during = ring_again
    ringing.ring(step_id(1), "read")
    until(lambda: len(ran.steps) == 2, "it ran once more")
    ringing.ring(step_id(2), "read")
    until(lambda: ran.steps == [1, 1, 2], "and only once")


def test_no_more_is_taken_than_there_are_threads(
    queue: Open, client: redis.Redis, layout: Layout
) -> None:
    ran = Ran()
    ran.hold.clear()
    ringing = queue(ran, ("read", "send"), workers=3)
    for number in range(10):
        ringing.ring(step_id(number), ("read", "send")[number % 2])
    until(lambda: len(ran.steps) == 3, "three run")
    until(lambda: _count(client, layout) == 10, "the others wait where all may take them")
    assert len(client.hgetall(_owners(client))) == 3
    ran.hold.set()
    until(lambda: _count(client, layout) == 0, "all are run and gone")
    assert sorted(ran.steps) == list(range(10))


def _count(client: redis.Redis, layout: Layout) -> int:
    return sum(client.zcard(layout.messages(tool)) for tool in ("read", "send"))


def _owners(client: redis.Redis) -> Any:
    (key,) = client.scan_iter("*:owners")
    return key


def test_a_message_for_a_step_that_does_not_exist_is_asked_about_once(
    queue: Open, client: redis.Redis, layout: Layout
) -> None:
    ran = Ran()  # it runs nothing, as a claim that finds no row
    client.zadd(layout.messages("read"), {step(9): 0})
    queue(ran)
    until(lambda: not client.exists(layout.messages("read")), "the message is gone")
    assert ran.steps == [9]


def test_ten_thousand_bad_messages_are_refused_and_told_of_once(
    queue: Open, client: redis.Redis, layout: Layout, caplog: pytest.LogCaptureFixture
) -> None:
    ran = Ran()
    client.zadd(layout.messages("read"), {f"poison {n}": 0 for n in range(10_000)})
    ringing = queue(ran, ("read", "send"))
    ringing.ring(step_id(1), "send")
    ringing.ring(step_id(2), "read")
    until(lambda: len(ran.steps) == 2, "good messages flow")
    until(lambda: not client.exists(layout.messages("read")), "the bad ones are gone")
    assert client.hget(layout.refused, "malformed") == b"10000"
    until(lambda: "thrown away" in caplog.text, "it is told")
    assert len(caplog.records) <= 2


def test_news_reach_the_other_processes(queue: Open) -> None:
    heard: list[TaskId] = []
    queue(Ran(), heard=heard.append)
    other = queue(Ran())
    task = TaskId(step_id(7))

    def told() -> bool:
        other.news(task)  # the other may not listen yet
        return task in heard

    until(told, "the news arrived")


def test_news_that_are_no_ids_are_not_listened_to(
    queue: Open, client: redis.Redis, layout: Layout
) -> None:
    heard: list[TaskId] = []
    queue(Ran(), heard=heard.append)
    until(lambda: client.pubsub_numsub(layout.channel)[0][1] == 1, "it listens")
    for junk in (b"", b"\xff" * 32, b"w " + b"x" * 32, b"w " + b"0" * 31, b"\x80\x04pickle"):
        client.publish(layout.channel, junk)
    client.publish(layout.channel, f"w0 {step(2)}")  # its own
    client.publish(layout.channel, f"w1 {step(1)}")
    until(lambda: heard == [TaskId(step_id(1))], "what was an id was heard")


def test_homes_that_share_a_server_share_no_messages(
    queue: Open, redis_url: str, tmp_path: Path
) -> None:
    mine, theirs = Ran(), Ran()
    other_home = tmp_path / "other"
    other_home.mkdir()
    settings = Settings.load(other_home, {}, redis_url=redis_url)
    ears = Ears(lambda: ("read",), theirs, lambda _: None, lambda: None)
    other = redis_queue(connect(redis_url), settings, WorkerId("w"), ears)
    other.start()
    try:
        ringing = queue(mine)
        for number in range(20):
            ringing.ring(step_id(number), "read")
        until(lambda: len(mine.steps) == 20, "all ran here")
        assert theirs.steps == []
    finally:
        other.stop(1.0)


def test_what_waits_at_the_end_is_another_process_s_at_once(queue: Open) -> None:
    here, there = Ran(), Ran()
    here.hold.clear()
    ending = queue(here, workers=2)
    for number in range(10):
        ending.ring(step_id(number), "read")
    until(lambda: len(here.steps) == 2, "it is busy")
    stopping = threading.Thread(target=ending.stop, args=(5.0,))
    stopping.start()
    queue(there)
    until(lambda: len(there.steps) == 8, "the other runs the rest, while the first still ends")
    assert not set(here.steps) & set(there.steps)
    here.hold.set()
    stopping.join()


def test_an_actor_that_fails_is_tried_no_more_by_the_queue(queue: Open) -> None:
    ran = Ran()

    def fail(_one: StepId) -> None:
        raise RuntimeError

    ran.during = fail
    ringing = queue(ran)
    ringing.ring(step_id(1), "read")
    ringing.ring(step_id(2), "read")
    until(lambda: len(ran.steps) == 2, "both were tried")
    ran.during = lambda _one: None
    ringing.ring(step_id(3), "read")
    until(lambda: len(ran.steps) == 3, "the queue goes on")
    assert sorted(ran.steps) == [1, 2, 3]
