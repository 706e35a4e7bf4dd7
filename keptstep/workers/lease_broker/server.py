"""The Redis server: how it is reached, and whether it may be used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from keptstep.models.errors import BadInput

if TYPE_CHECKING:
    import redis

#: Seconds until a command that is not answered counts as a lost connection.
TIMEOUT = 2.0
#: Lua with TIME before writes, LPUSH that wakes BLPOP from a script, waits in fractions.
_OLDEST = (6, 0)
#: Seconds by which clocks may differ before it is worth a word. Nothing depends on it.
_CLOCKS = 5.0


@dataclass(frozen=True, slots=True)
class Check:
    """What one look at the server found."""

    name: str
    fine: bool
    said: str  #: one line without secrets
    advice: str = ""  #: what to do, where something is to be done
    fatal: bool = False  #: no worker may use the server like this


def connect(url: str) -> redis.Redis:
    """Return a client of the server at ``url``; it connects when it is first used.

    Every command of ours may be repeated, so one that lost its connection is sent once more.
    Raises ``BadInput`` for an address that cannot be one, or without the driver.
    """
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise BadInput(
            "KEPTSTEP_REDIS_URL needs the Redis driver: pip install 'keptstep[redis]'"
        ) from None
    try:
        return redis.Redis.from_url(
            url,
            client_name="keptstep",
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            health_check_interval=5,
            protocol=2,
            retry=Retry(NoBackoff(), 1, (redis.ConnectionError,)),
        )
    except ValueError:  # its text may quote the address, and so a password
        raise BadInput("KEPTSTEP_REDIS_URL is no address of a Redis server") from None


def address(url: str) -> str:
    """Return where a server is, without user and password: fit for logs."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix:{parts.path}"
    return f"{parts.hostname or 'localhost'}:{parts.port or 6379}{parts.path.rstrip('/')}"


def refuse_unfit(client: redis.Redis, now: Callable[[], float]) -> None:
    """Raise ``BadInput`` if the server must not be used; one that is away is only away."""
    for check in checks(client, now):
        if check.fatal:
            raise BadInput(f"KEPTSTEP_REDIS_URL: {check.said}: {check.advice}")


def checks(client: redis.Redis, now: Callable[[], float]) -> Iterator[Check]:
    """Look at the server: can it be reached, may it drop messages, is it one to write to.

    ``now`` is the store's clock in seconds. Uses INFO and TIME alone, which managed servers
    allow too. Ends after the first check that makes the others pointless.
    """
    import redis

    try:
        begun = time.monotonic()
        info: dict[str, Any] = client.info()
        seconds, micros = client.time()
        took = time.monotonic() - begun
    except redis.AuthenticationError:
        said = "the Redis server refuses user or password"
        yield Check("redis", False, said, "correct them in KEPTSTEP_REDIS_URL", fatal=True)
        return
    except redis.RedisError as error:
        said = f"the Redis server cannot be asked ({type(error).__name__})"
        advice = "steps are run by the process that planned them, or found within a sweep"
        yield Check("redis", False, said, advice)
        return
    yield Check("redis", True, f"Redis {info['redis_version']} answers in {took * 1000:.0f} ms")
    yield _version(str(info["redis_version"]))
    yield _role(info)
    yield _eviction(info)
    yield _clock(int(seconds) + int(micros) / 1e6 - now(), took)


def _version(text: str) -> Check:
    numbers = tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
    oldest = ".".join(map(str, _OLDEST))
    if numbers >= _OLDEST:
        return Check("redis version", True, f"{text} is {oldest} or newer")
    return Check(
        "redis version", False, f"Redis {text} is too old", f"use {oldest} or newer", True
    )


def _role(info: dict[str, Any]) -> Check:
    if info.get("role") != "slave":
        return Check("redis role", True, "takes writes")
    said = "the Redis server is a replica, which takes no writes"
    return Check("redis role", False, said, "name its primary", fatal=True)


def _eviction(info: dict[str, Any]) -> Check:
    policy, limit = info.get("maxmemory_policy", "noeviction"), int(info.get("maxmemory", 0))
    if policy == "noeviction":
        return Check("redis eviction", True, "noeviction: a full server says so")
    if limit == 0:
        said = f"maxmemory-policy is {policy}, but no maxmemory is set, so nothing is dropped"
        return Check("redis eviction", True, said)
    return Check(
        "redis eviction",
        False,
        f"the Redis server drops messages when it is full (maxmemory-policy {policy})",
        "set maxmemory-policy to noeviction, or give keptstep a server of its own",
        fatal=True,
    )


def _clock(ahead: float, took: float) -> Check:
    if abs(ahead) <= _CLOCKS + took:
        return Check("redis clock", True, f"{ahead:+.1f} s from the store's")
    said = f"the Redis server's clock is {ahead:+.0f} s from the store's"
    return Check("redis clock", False, said, "nothing depends on it; set one of the clocks right")
