"""What becomes of a message, on a server in memory and on a real one.

Moments are made by moving scores, never by waiting.
"""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import redis

from keptstep.workers.lease_broker.bells import Bells
from keptstep.workers.lease_broker.script import Op
from tests.doorbell.conftest import LAYOUT, step, step_id

Worker = Callable[..., Bells]
TOOLS = ("read", "send")
MESSAGES = LAYOUT.messages("read")


def ring(bells: Bells, *numbers: int, tool: str = "read") -> None:
    bells.tell([Op("ring", step(number), tool) for number in numbers])


def taken(bells: Bells, tools: Sequence[str] = ("read",), free: int = 8) -> list[int]:
    return [int(digits, 16) for _, digits in bells.take(tools, free).messages]


def let_pass(client: redis.Redis, seconds: float) -> None:
    """Make every message as if so many seconds had passed."""
    for key in client.scan_iter("*:tool:*"):
        found: Any = client.zrange(key, 0, -1, withscores=True)
        for member, score in found:
            client.zadd(key, {member: score - seconds * 1000})


def test_a_rung_step_is_taken_once_and_gone_when_it_is_done(
    worker: Worker, client: redis.Redis
) -> None:
    a, b = worker("a"), worker("b")
    ring(a, 1)
    assert taken(b) == [1]
    assert taken(a) == []
    b.tell([Op("done", step(1), "read")])
    let_pass(client, 3600)
    assert taken(a) == []
    assert [key for key in client.scan_iter() if client.type(key) != b"list"] == []


def test_a_hundred_rings_are_one_message(worker: Worker) -> None:
    a = worker("a")
    for _ in range(100):
        ring(a, 1)
    assert taken(a) == [1]
    assert taken(worker("b")) == []


def test_a_ring_while_the_step_was_just_taken_gives_it_to_nobody_else(worker: Worker) -> None:
    a = worker("a")
    ring(a, 1)
    assert taken(a) == [1]
    ring(a, 1)
    assert taken(worker("b")) == []


def test_a_ring_means_the_row_is_ready_so_who_took_it_long_ago_does_not_run_it(
    worker: Worker, client: redis.Redis
) -> None:
    dead, b = worker("dead"), worker("b")
    ring(b, 1)
    assert taken(dead) == [1]
    let_pass(client, 2)
    assert taken(b) == []
    ring(b, 1)
    assert taken(b) == [1]


def test_a_message_of_a_silent_worker_may_be_taken_when_its_lease_ends(
    worker: Worker, client: redis.Redis
) -> None:
    silent, b = worker("silent"), worker("b")
    ring(b, 1)
    assert taken(silent) == [1]
    let_pass(client, 14.5)
    assert taken(b) == []
    let_pass(client, 0.5)
    assert taken(b) == [1]


def test_only_the_owner_extends_and_settles(worker: Worker, client: redis.Redis) -> None:
    old, new = worker("old"), worker("new")
    ring(old, 1, 2)
    assert taken(old) == [1, 2]
    let_pass(client, 15)
    assert taken(new) == [1, 2]
    assert old.extend([(step_id(1), "read")]) == 0
    old.tell([Op("done", step(1), "read"), Op("back", step(2), "read")])
    let_pass(client, 10)
    assert new.extend([(step_id(1), "read"), (step_id(2), "read")]) == 2
    let_pass(client, 10)
    assert taken(worker("third")) == []
    let_pass(client, 5)
    assert taken(worker("third")) == [1, 2]


def test_an_extension_brings_back_no_message_that_is_gone(
    worker: Worker, client: redis.Redis
) -> None:
    a = worker("a")
    ring(a, 1)
    assert taken(a) == [1]
    client.delete(MESSAGES)  # an old dump may hold owners without messages
    a.extend([(step_id(1), "read")])
    let_pass(client, 3600)
    assert taken(a) == []


def test_what_did_not_begin_goes_back_at_once(worker: Worker) -> None:
    a, b = worker("a"), worker("b")
    ring(a, 1)
    assert taken(a) == [1]
    a.tell([Op("back", step(1), "read")])
    assert taken(b) == [1]


def test_a_worker_is_never_given_a_step_of_a_tool_it_lacks(worker: Worker) -> None:
    a = worker("a")
    ring(a, 1, tool="send")
    ring(a, 2, tool="unknown to all")
    assert taken(a, ["read"]) == []
    assert taken(a, []) == []
    assert taken(a, ["read", "send"]) == [1]


def test_no_more_is_taken_than_there_is_room_for(worker: Worker) -> None:
    a = worker("a")
    ring(a, *range(20))
    assert len(taken(a, free=3)) == 3
    assert len(taken(a, free=20)) == 17


def test_many_steps_of_one_tool_keep_no_other_tool_waiting(worker: Worker) -> None:
    a = worker("a")
    ring(a, *range(100), tool="read")
    ring(a, 100, 101, tool="send")
    got = a.take(TOOLS, 4).messages
    assert sorted(tool for tool, _ in got) == ["read", "read", "send", "send"]


def test_the_tool_that_comes_first_changes(worker: Worker) -> None:
    a = worker("a")
    ring(a, *range(4), tool="read")
    ring(a, *range(4, 8), tool="send")
    firsts = [a.take(TOOLS, 1).messages[0][0] for _ in range(4)]
    assert sorted(firsts) == ["read", "read", "send", "send"]


def test_what_waits_longest_is_taken_first(worker: Worker, client: redis.Redis) -> None:
    a = worker("a")
    for number in (5, 3, 9):
        ring(a, number)
        let_pass(client, 1)
    assert taken(a) == [5, 3, 9]


JUNK = {
    "empty": b"",
    "cut": b"0" * 31,
    "long": b"0" * 33,
    "upper case": b"A" * 32,
    "newline": step(1).encode() + b"\n",
    "pickled": pickle.dumps({"step": 1}),
    "other version": b'{"queue_name":"steps","actor_name":"run_step","args":["x"],"v":2}',
    "right to left": "\u202e".encode() * 11,
    "not text": b"\xff" * 32,
    "huge": b"x" * (8 << 20),
}


@pytest.mark.parametrize("junk", JUNK)
def test_what_is_no_step_id_is_thrown_away_and_counted(
    worker: Worker, client: redis.Redis, junk: str
) -> None:
    a = worker("a")
    client.zadd(MESSAGES, {JUNK[junk]: 0})
    ring(a, 1)
    found = a.take(["read"], 8)
    assert found.refused == 1
    assert [digits for _, digits in found.messages] == [step(1)]
    assert client.hgetall(LAYOUT.refused) == {b"malformed": b"1"}
    assert client.zcard(MESSAGES) == 1


def test_after_refusing_one_is_told_to_look_again_at_once(
    worker: Worker, client: redis.Redis
) -> None:
    client.zadd(MESSAGES, {f"junk {n}": 0 for n in range(1000)})
    found = worker("a").take(["read"], 8)
    assert (found.messages, found.wait) == ([], 0.0)
    assert 0 < found.refused < 100, "one look must not be long"


@pytest.mark.parametrize("hours", [-24, 24], ids=["back", "forward"])
def test_a_server_whose_clock_was_set_loses_no_step(
    worker: Worker, client: redis.Redis, hours: int
) -> None:
    a, b = worker("a"), worker("b")
    ring(a, 1, 2)
    assert taken(a, free=1) == [1]
    let_pass(client, hours * 3600)
    ring(b, 1, 2)  # the rows are ready: a sweeper rings
    assert sorted(taken(b)) == [1, 2]


def test_who_looks_in_vain_is_told_when_a_lease_ends(worker: Worker) -> None:
    a, b = worker("a"), worker("b")
    assert b.take(TOOLS, 1).wait is None
    ring(a, 1)
    taken(a)
    wait = b.take(TOOLS, 1).wait
    assert wait is not None
    assert 10 < wait <= 15


def test_a_bell_wakes_one_and_each_who_leaves_something_wakes_the_next(
    worker: Worker, client: redis.Redis
) -> None:
    a = worker("a")
    ring(a, 1, 2, 3)
    bell = LAYOUT.bell("read")
    assert client.llen(bell) == 1
    client.delete(bell)  # as the one who waited does
    assert len(taken(a, free=2)) == 2
    assert client.llen(bell) == 1
    client.delete(bell)
    assert len(taken(a, free=2)) == 1
    assert client.llen(bell) == 0


def test_messages_nobody_asks_for_do_not_stay_for_ever(
    worker: Worker, client: redis.Redis
) -> None:
    a = worker("a")
    ring(a, 1, 2)
    ring(a, 3, tool="send")
    taken(a, free=1)
    for key in client.scan_iter():
        assert 0 < client.ttl(key) <= 86_400, key


def test_news_go_to_the_channel(worker: Worker, client: redis.Redis) -> None:
    with client.pubsub() as listening:  # type: ignore[no-untyped-call]
        listening.subscribe(LAYOUT.channel)
        assert listening.get_message(timeout=5)["type"] == "subscribe"
        worker("a").tell([Op("news", step(7))])
        assert listening.get_message(timeout=5)["data"] == b"a " + step(7).encode()


def test_a_flushed_script_is_loaded_again(worker: Worker, client: redis.Redis) -> None:
    a = worker("a")
    ring(a, 1)
    client.script_flush()
    assert taken(a) == [1]


def test_twenty_thousand_waiting_messages_cost_a_look_no_more(worker: Worker) -> None:
    a = worker("a")
    for begin in range(0, 20_000, 4000):
        ring(a, *range(begin, begin + 4000))
    assert len(taken(a)) == 8
