"""One process's queue on a real server: what is rung is run, once, and by whom."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from keptstep.models.ids import StepId, TaskId
from keptstep.workers.lease_broker.naming import home_name
from keptstep.workers.lease_broker.script import Layout
from tests.doorbell.conftest import step, step_id
from tests.doorbell.queues import Queues, Ran
from tests.waiting import until


@pytest.fixture
def queue(redis_url: str, tmp_path: Path) -> Iterator[Queues]:
    """Return a function that starts a process's queue; all of them share a home."""
    opening = Queues(redis_url, tmp_path)
    yield opening
    opening.close()


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url, protocol=2) as made:
        yield made


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(home_name(tmp_path))


def test_what_is_rung_is_run(queue: Queues) -> None:
    ran = Ran()
    ringing = queue(ran)
    for number in range(100):
        ringing.ring(step_id(number), "read")
    until(lambda: len(ran.steps) == 100, "all steps ran")
    assert sorted(ran.steps) == list(range(100))


def test_another_process_runs_what_this_one_has_no_room_for(queue: Queues) -> None:
    here, there = Ran(), Ran()
    here.hold.clear()
    ringing = queue(here, workers=1)
    ringing.ring(step_id(1), "read")
    until(lambda: here.steps == [1], "the only place is taken")
    queue(there)
    ringing.ring(step_id(2), "read")
    until(lambda: there.steps == [2], "the other process runs it")
    here.hold.set()


def test_a_step_goes_to_a_process_that_knows_its_tool(queue: Queues) -> None:
    reads, sends = Ran(), Ran()
    ringing = queue(reads, ("read",))
    for number in range(20):
        ringing.ring(step_id(number), "send")
    ringing.ring(step_id(50), "read")
    until(lambda: reads.steps == [50], "what it knows was run")
    queue(sends, ("send",))
    until(lambda: len(sends.steps) == 20, "the others were run by the other process")
    assert reads.steps == [50]


def test_a_step_that_is_rung_while_it_runs_runs_once_more(queue: Queues) -> None:
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
    queue: Queues, client: redis.Redis, layout: Layout
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
    queue: Queues, client: redis.Redis, layout: Layout
) -> None:
    ran = Ran()  # it runs nothing, as a claim that finds no row
    client.zadd(layout.messages("read"), {step(9): 0})
    queue(ran)
    until(lambda: not client.exists(layout.messages("read")), "the message is gone")
    assert ran.steps == [9]


def test_ten_thousand_bad_messages_are_refused_and_told_of_once(
    queue: Queues, client: redis.Redis, layout: Layout, caplog: pytest.LogCaptureFixture
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


def test_news_reach_the_other_processes(queue: Queues) -> None:
    heard: list[TaskId] = []
    queue(Ran(), heard=heard.append)
    other = queue(Ran())
    task = TaskId(step_id(7))

    def told() -> bool:
        other.news(task)  # the other may not listen yet
        return task in heard

    until(told, "the news arrived")


def test_news_that_are_no_ids_are_not_listened_to(
    queue: Queues, client: redis.Redis, layout: Layout
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
    queue: Queues, redis_url: str, tmp_path: Path
) -> None:
    mine, theirs = Ran(), Ran()
    (tmp_path / "other").mkdir()
    others = Queues(redis_url, tmp_path / "other")
    others(theirs)
    try:
        ringing = queue(mine)
        for number in range(20):
            ringing.ring(step_id(number), "read")
        until(lambda: len(mine.steps) == 20, "all ran here")
        assert theirs.steps == []
    finally:
        others.close()


def test_a_process_that_ends_takes_nothing_more(queue: Queues) -> None:
    here, there = Ran(), Ran()
    here.hold.clear()
    ending = queue(here, workers=3)
    ending.ring(step_id(99), "read")
    until(lambda: here.steps == [99], "it has something to end")
    stopping = threading.Thread(target=ending.stop, args=(20.0,))
    stopping.start()
    ringing = queue(there, workers=1)
    for number in range(8):
        ringing.ring(step_id(number), "read")
    until(lambda: len(there.steps) == 8, "the other runs all, while the first still ends")
    here.hold.set()
    stopping.join()
    assert here.steps == [99]


def test_a_queue_that_was_stopped_leaves_no_thread_and_no_connection(
    queue: Queues, client: redis.Redis
) -> None:
    before = set(threading.enumerate())
    stopping = queue(Ran())
    stopping.ring(step_id(1), "read")
    until(lambda: len(_connections(client)) == 3, "it has its three connections")
    stopping.stop(1.0)
    assert set(threading.enumerate()) <= before
    until(lambda: _connections(client) == [], "the server sees none of them")


def _connections(client: redis.Redis) -> list[Any]:
    mine = str(client.connection_pool.connection_kwargs["db"])  # others use the same server
    found = client.client_list()
    return [one for one in found if one["name"] == "keptstep" and one["db"] == mine]


def test_an_actor_that_fails_is_tried_no_more_by_the_queue(queue: Queues) -> None:
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
