"""A dead, stalled, wiped, full or lying Redis costs seconds, never work."""

import logging
import threading
from collections.abc import Callable

import pytest

from keptstep import App
from keptstep.workers.lease_broker.naming import home_name
from keptstep.workers.lease_broker.script import Layout
from tests.doorbell.apps import Home, every_step_once, waiting
from tests.doorbell.server import OwnRedis
from tests.waiting import until

Start = Callable[..., OwnRedis]
Make = Callable[[str], Home]
TOTAL = sum(range(20))


def through(server: OwnRedis, home: Home) -> int:
    """Return how many messages of the home's steps wait or are held in Redis."""
    (tool,) = home.registry.tools
    return int(server.client.zcard(Layout(home_name(home.folder)).messages(tool)))


def held_up(server: OwnRedis, home: Home, count: int) -> tuple[App, Callable[[], int]]:
    """Start a task and hold its steps: four in their calls, the others waiting in Redis."""
    home.hold.clear()
    app = home.app().start()
    task = app.submit(home.fan, count=count, key="held up")
    until(lambda: len(home.calls) == 4, "four steps are being called")
    until(lambda: through(server, home) == count, "the others wait in Redis")
    return app, waiting(app, task.id)


def finish(app: App, home: Home, count: int) -> None:
    home.hold.set()
    task = app.submit(home.fan, count=count, key="held up")
    assert task.result(30).value == sum(range(count))
    every_step_once(app, task.id, count)


def test_a_worker_starts_and_works_while_redis_is_away(
    own_redis: Start, home: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = own_redis()
    server.kill()
    one = home(server.url)
    one.flaky = {3}
    app = one.app().start()
    task = app.submit(one.fan, count=20)
    assert task.result(30).value == TOTAL
    every_step_once(app, task.id, 20)
    assert caplog.text.count("is away") == 1, "told once, not once a step"


def test_when_redis_dies_its_steps_go_on_and_delayed_ones_too_and_it_is_used_again_later(
    own_redis: Start, home: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server = own_redis()
    one = home(server.url)
    one.flaky = set(range(20))  # every step waits for its second attempt in its row
    app, _ = held_up(server, one, 20)
    server.kill()
    finish(app, one, 20)
    assert set(one.calls.values()) == {2}
    server.start()
    until(lambda: "is back after" in caplog.text, "the server is found again")
    before = server.commands().get("zadd", 0)
    assert app.submit(one.fan, count=5).result(30).value == 10
    assert server.commands()["zadd"] - before >= 5
    until(lambda: through(server, one) == 0, "nothing is left behind")


@pytest.mark.chaos
def test_half_a_minute_without_redis_delays_nothing(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, _ = held_up(server, one, 20)
    server.kill()
    finish(app, one, 20)
    for away in range(15):
        one.calls.clear()
        one.flaky = set(range(20))
        assert app.submit(one.fan, count=20, key=f"{away}").result(5).value == TOTAL
        threading.Event().wait(2.0)
    server.start()
    assert app.submit(one.fan, count=20).result(5).value == TOTAL


@pytest.mark.slow
def test_a_stalled_server_holds_nobody_up_for_long(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, _ = held_up(server, one, 20)
    server.stall()
    try:
        finish(app, one, 20)
    finally:
        server.go_on()


@pytest.mark.slow
def test_a_stalled_server_does_not_hold_up_the_end(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, _ = held_up(server, one, 20)
    server.stall()
    try:
        one.hold.set()
        app.close(grace=0.5)
    finally:
        server.go_on()
    again = one.app().start()
    finish(again, one, 20)


@pytest.mark.slow
def test_a_wiped_server_loses_no_step(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, left = held_up(server, one, 200)
    one.hold.set()

    def wipe_and_look() -> bool:
        server.client.flushall()
        return left() == 0

    until(wipe_and_look, "all steps are done in spite of it")
    finish(app, one, 200)
    assert set(one.calls.values()) == {1}


def test_an_old_dump_brings_back_messages_and_no_calls(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, _ = held_up(server, one, 20)
    server.client.save()
    finish(app, one, 20)
    server.kill()
    server.start()
    assert through(server, one) == 20, "the dump holds what was waiting then"
    assert app.submit(one.fan, count=5).result(30).value == 10
    until(lambda: through(server, one) <= 4, "old messages are asked about and dropped")
    assert sum(one.calls.values()) == 25


def test_a_full_server_that_evicts_nothing_is_worked_around(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, _ = held_up(server, one, 20)
    server.client.config_set("maxmemory", "1")
    finish(app, one, 20)
    assert app.submit(one.fan, count=5).result(30).value == 10
    server.client.config_set("maxmemory", "0")


@pytest.mark.slow
def test_connections_that_are_cut_all_the_time_lose_no_step(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, left = held_up(server, one, 200)
    one.hold.set()

    def cut_and_look() -> bool:
        for kind in ("normal", "pubsub"):
            server.client.client_kill_filter(_type=kind, skipme=True)
        return left() == 0

    until(cut_and_look, "all steps are done in spite of it")
    finish(app, one, 200)


def test_a_key_that_is_no_sorted_set_any_more_stops_nobody(own_redis: Start, home: Make) -> None:
    server = own_redis()
    one = home(server.url)
    app, _ = held_up(server, one, 20)
    (tool,) = one.registry.tools
    server.client.set(Layout(home_name(one.folder)).messages(tool), "something else")
    finish(app, one, 20)


def test_a_read_only_server_is_worked_around(
    own_redis: Start, home: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "keptstep")
    server, primary = own_redis(), own_redis()
    one = home(server.url)
    app, _ = held_up(server, one, 20)
    server.client.replicaof("127.0.0.1", str(primary.port))  # a failover under our feet
    finish(app, one, 20)
    assert caplog.text.count("is away") == 1
