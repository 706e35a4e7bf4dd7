"""Which servers a worker refuses, and what it says."""

import logging
from collections.abc import Callable

import pytest

from keptstep.models.errors import BadInput
from keptstep.workers.lease_broker.server import Check, address, checks, connect, refuse_unfit
from tests.doorbell.server import OwnRedis

Start = Callable[..., OwnRedis]


def found(server: OwnRedis, url: str | None = None, ahead: float = 0.0) -> dict[str, Check]:
    """Return what was found by name; `ahead` is how far the server's clock is ahead."""
    seconds, micros = server.client.time()
    with connect(url or server.url) as client:
        now = seconds + micros / 1e6 - ahead
        return {check.name: check for check in checks(client, lambda: now)}


def test_a_fit_server_is_found_fit(own_redis: Start) -> None:
    server = own_redis()
    assert {check.fine for check in found(server).values()} == {True}
    assert set(found(server)) == {
        "redis",
        "redis version",
        "redis role",
        "redis eviction",
        "redis clock",
    }


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-lru", "allkeys-random"])
def test_a_server_that_drops_messages_is_refused_with_what_to_do(
    own_redis: Start, policy: str
) -> None:
    server = own_redis(maxmemory="10mb", maxmemory_policy=policy)
    with (
        connect(server.url) as client,
        pytest.raises(BadInput, match=f"policy {policy}.*: set maxmemory-policy to noeviction"),
    ):
        refuse_unfit(client, lambda: 0.0)


def test_an_evicting_policy_without_a_limit_drops_nothing(own_redis: Start) -> None:
    server = own_redis(maxmemory_policy="allkeys-lru")
    assert found(server)["redis eviction"].fine


def test_a_replica_is_refused(own_redis: Start) -> None:
    primary = own_redis()
    replica = own_redis(replicaof=f"127.0.0.1 {primary.port}")
    assert found(replica)["redis role"].fatal


def test_a_wrong_password_is_refused_and_no_password_is_shown(
    own_redis: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server = own_redis(requirepass="right-one")
    caplog.set_level(logging.DEBUG)
    for secret in ("", "wrong-one"):
        url = server.url.replace("//", f"//:{secret}@" if secret else "//")
        with (
            connect(url) as client,
            pytest.raises(BadInput, match="refuses user or password") as error,
        ):
            refuse_unfit(client, lambda: 0.0)
        assert "wrong-one" not in str(error.value) + caplog.text + repr(client)
    assert found(server, server.url.replace("//", "//:right-one@"))["redis"].fine


def test_a_clock_that_differs_is_told_and_nothing_more(own_redis: Start) -> None:
    check = found(own_redis(), ahead=3600)["redis clock"]
    assert not check.fine
    assert not check.fatal
    assert "+3600 s" in check.said


def test_a_server_that_is_away_stops_nobody_from_starting(own_redis: Start) -> None:
    server = own_redis()
    server.kill()
    with connect(server.url) as client:
        (check,) = checks(client, lambda: 0.0)
        assert (check.fine, check.fatal) == (False, False)
        refuse_unfit(client, lambda: 0.0)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://user:secret@example.org:6380/2", "example.org:6380/2"),
        ("redis://:secret@localhost", "localhost:6379"),
        ("unix://:secret@/run/redis.sock?db=1&password=secret", "unix:/run/redis.sock"),
        ("rediss://h/?ssl_password=secret", "h:6379"),
    ],
)
def test_an_address_for_logs_has_no_password(url: str, said: str) -> None:
    assert address(url) == said
