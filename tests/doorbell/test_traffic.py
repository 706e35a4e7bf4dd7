"""What the doorbell sends to a server, seen from the server."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keptstep.workers.lease_broker.bells import Bells
from keptstep.workers.lease_broker.consumer import BLOCK
from keptstep.workers.lease_broker.script import Op
from tests.doorbell.apps import Home
from tests.doorbell.conftest import LAYOUT, step, step_id
from tests.doorbell.queues import Queues, Ran
from tests.doorbell.server import OwnRedis
from tests.waiting import until

Start = Callable[..., OwnRedis]

#: What talks about keys inside the script, and where the keys are among its words.
_KEYED = {
    "ZADD", "ZREM", "ZSCORE", "ZRANGE", "ZRANGEBYSCORE", "HGET", "HSET", "HDEL", "HINCRBY",
    "EXISTS", "LPUSH", "PEXPIRE",
}  # fmt: skip


@contextmanager
def overheard(server: OwnRedis) -> Iterator[list[dict[str, Any]]]:
    """Collect every command of the server, those of scripts included."""
    heard: list[dict[str, Any]] = []
    with server.client.monitor() as monitor:  # type: ignore[no-untyped-call]

        def listen() -> None:
            for command in monitor.listen():
                if "end of listening" in command["command"]:
                    return
                heard.append(command)

        listening = threading.Thread(target=listen)
        listening.start()
        try:
            yield heard
        finally:
            server.client.echo("end of listening")
            listening.join(20)


def test_the_script_touches_no_key_it_was_not_given_and_never_searches(own_redis: Start) -> None:
    server = own_redis()
    bells = Bells(server.client, LAYOUT, "a", 15.0)
    with overheard(server) as heard:
        bells.tell(
            [Op("ring", step(n), "read") for n in range(5)]
            + [Op("ring", step(7), "send"), Op("news", step(8))]
        )
        server.client.zadd(LAYOUT.messages("read"), {"junk": 0})
        bells.take(["read", "send", "idle"], 3)
        bells.take(["idle"], 3)
        bells.extend([(step_id(0), "read"), (step_id(1), "read")])
        bells.tell([Op("done", step(0), "read"), Op("back", step(1), "read")])
    inside = [c["command"].split() for c in heard if c["client_type"] == "lua"]
    keys = [words[1] for words in inside if words[0] in _KEYED]
    assert {words[0] for words in inside} - _KEYED == {"TIME", "PUBLISH"}
    outside = [c["command"] for c in heard if c["client_type"] != "lua"]
    given = " ".join(outside)
    assert len(keys) > 20
    assert [key for key in keys if key not in given] == []
    assert all("{0123456789abcdef}" in key for key in keys), "one hash tag for a cluster"


def test_a_run_uses_few_commands_and_none_that_looks_at_every_key(
    own_redis: Start, home: Callable[[str], Home]
) -> None:
    server = own_redis()
    one = home(server.url)
    app = one.app().start()
    assert app.submit(one.fan, count=20).result(30).value == sum(range(20))
    app.close()
    seen = set(server.commands())
    assert "evalsha" in seen
    assert seen & {"keys", "scan", "sort", "flushall", "flushdb", "config|set"} == set()


def test_a_server_of_a_cluster_takes_every_call(own_redis: Start, tmp_path: Path) -> None:
    server = own_redis(cluster_enabled="yes")
    ask: Any = server.client.execute_command
    ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    until(lambda: "cluster_state:ok" in str(ask("CLUSTER", "INFO")), "the cluster is up")
    ran = Ran()
    queues = Queues(server.url, tmp_path)
    try:
        ringing = queues(ran, ("read", "send"))
        for number in range(20):
            ringing.ring(step_id(number), ("read", "send")[number % 2])
        until(lambda: len(ran.steps) == 20, "all ran")
        (home,) = {key.split(b"}")[0] for key in server.client.scan_iter()}
        assert home.startswith(b"keptstep1:{")
        until(lambda: server.commands().get("zrem") == 20, "all went through the server")
    finally:
        queues.close()


@pytest.mark.slow
def test_an_idle_worker_asks_less_than_ten_times_a_second(
    own_redis: Start, home: Callable[[str], Home]
) -> None:
    server = own_redis()
    home(server.url).app().start()
    until(lambda: server.commands().get("blpop", 0) >= 2, "the worker waits for a bell")
    before = server.commands()
    until(lambda: server.commands()["blpop"] - before["blpop"] >= 4, "it waited four times")
    after = server.commands()
    asked = sum(after[name] - before[name] for name in ("blpop", "evalsha"))
    waits = after["blpop"] - before["blpop"]
    assert asked / waits <= 2.5
    assert 2.5 / BLOCK < 10
