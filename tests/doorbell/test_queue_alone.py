"""What the queue does by itself while Redis is away: here no sweeper makes up for it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import fakeredis
import pytest

from keptstep.models.ids import TaskId
from keptstep.workers.broker import step_message
from keptstep.workers.lease_broker.bells import Bells
from keptstep.workers.lease_broker.broker import LeaseBroker
from keptstep.workers.lease_broker.naming import home_name
from keptstep.workers.lease_broker.news import News
from keptstep.workers.lease_broker.outage import Outage
from keptstep.workers.lease_broker.script import Layout, Op
from tests.doorbell.conftest import LAYOUT, step, step_id
from tests.doorbell.queues import Queues, Ran
from tests.doorbell.server import OwnRedis
from tests.waiting import until

#: Seconds: several times what the driver is told to wait, and less than it waits by default.
SOON = 15.0


@pytest.fixture
def server(own_redis: Callable[..., OwnRedis]) -> OwnRedis:
    return own_redis()


@pytest.fixture
def queue(server: OwnRedis, tmp_path: Path) -> Iterator[Queues]:
    opening = Queues(server.url, tmp_path)
    yield opening
    server.go_on_and_kill()
    opening.close()


@pytest.mark.slow
def test_what_is_rung_while_the_server_stalls_runs_here_and_soon(
    queue: Queues, server: OwnRedis
) -> None:
    ran = Ran()
    ringing = queue(ran)
    ringing.ring(step_id(0), "read")
    until(lambda: ran.steps == [0], "all is well")
    server.stall()
    for number in range(1, 11):
        ringing.ring(step_id(number), "read")
    until(lambda: len(ran.steps) == 11, "all ran", seconds=SOON)
    assert sorted(ran.steps) == list(range(11))


@pytest.mark.slow
def test_a_step_that_ends_while_the_server_stalls_frees_its_thread_and_its_message_later(
    queue: Queues, server: OwnRedis, tmp_path: Path
) -> None:
    ran = Ran()
    ran.hold.clear()
    ringing = queue(ran, workers=1)
    ringing.ring(step_id(0), "read")
    until(lambda: ran.steps == [0], "it runs")
    server.stall()
    ran.hold.set()
    ringing.ring(step_id(1), "read")
    until(lambda: ran.steps == [0, 1], "the thread is free for another", seconds=SOON)
    server.go_on()
    ringing.ring(step_id(2), "read")
    until(lambda: ran.steps[-1] == 2, "and goes on afterwards")
    messages = Layout(home_name(tmp_path)).messages("read")
    assert server.client.zscore(messages, step(2)) or ran.steps.count(2) == 1


def test_a_step_rung_while_it_runs_and_redis_dies_runs_once_more(
    queue: Queues, server: OwnRedis
) -> None:
    ran = Ran()
    ran.hold.clear()
    ringing = queue(ran)
    ringing.ring(step_id(0), "read")
    until(lambda: ran.steps == [0], "it runs")
    ringing.ring(step_id(0), "read")
    server.kill()
    ran.hold.set()
    until(lambda: ran.steps == [0, 0], "it ran once more", seconds=SOON)


def test_steps_that_wait_here_leave_those_in_redis_to_others(
    queue: Queues, server: OwnRedis
) -> None:
    busy, free = Ran(), Ran()
    busy.hold.clear()
    ringing = queue(busy, workers=1)
    server.kill()
    for number in range(3):
        ringing.ring(step_id(number), "read")
    until(lambda: busy.steps == [0], "the first runs, the others wait here", seconds=SOON)
    server.start()
    until(lambda: server.commands().get("evalsha", 0) > 0, "the server is found again")
    other = queue(free, workers=1)
    for number in range(10, 15):
        other.ring(step_id(number), "read")
    until(lambda: sorted(free.steps) == list(range(10, 15)), "the other runs them")
    busy.hold.set()
    until(lambda: busy.steps == [0, 1, 2], "what waited here ran here")


def test_news_are_heard_again_after_an_outage_and_one_is_told_that_some_were_missed(
    queue: Queues, server: OwnRedis
) -> None:
    heard: list[TaskId] = []
    missed: list[int] = []
    queue(Ran(), heard=heard.append, missed=lambda: missed.append(1))
    until(lambda: missed == [1], "it listens")
    server.kill()
    server.start()
    until(lambda: missed == [1, 1], "it listens again")
    server.client.publish(_channel(server), f"other {step(7)}")
    until(lambda: heard == [TaskId(step_id(7))], "and hears")


def _channel(server: OwnRedis) -> bytes | str:
    (channel,) = server.client.pubsub_channels()
    return channel


def test_a_step_rung_before_it_began_is_not_run_twice() -> None:
    client = fakeredis.FakeRedis(protocol=2)
    bells = Bells(client, LAYOUT, "w", 15.0)
    news = News(client, LAYOUT.channel, "w", lambda _: None, lambda: None)
    broker = LeaseBroker(bells, news, Outage("here"), lambda: ["read"], 1)
    bells.tell([Op("ring", step(1), "read")])
    (taken,) = bells.take(["read"], 1).messages
    assert broker.hold(taken[1], taken[0])
    broker.enqueue(step_message(step(1), "read"))  # a sweeper that has not seen the claim yet
    broker.begin(step(1))
    broker.let_go(step(1))
    broker.start()
    broker.stop()
    broker.close()
    assert client.zcard(LAYOUT.messages("read")) == 0
