"""Redis as the doorbell meets it: in memory, real, and one of a test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import fakeredis
import pytest
import redis

from keptstep.models.ids import StepId
from keptstep.workers.lease_broker.bells import Bells
from keptstep.workers.lease_broker.script import Layout
from tests.doorbell.apps import Home
from tests.doorbell.server import OwnRedis
from tests.template import new_database

LAYOUT = Layout("0123456789abcdef")


def step(number: int) -> str:
    """Return the digits of a step's id."""
    return f"{number:032x}"


def step_id(number: int) -> StepId:
    """Return the same id as bytes."""
    return StepId(bytes.fromhex(step(number)))


@pytest.fixture(params=["fakeredis", "redis-server"])
def client(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    """Return a client of an empty server: one in memory, then a real one."""
    if request.param == "fakeredis":
        made: redis.Redis = fakeredis.FakeRedis(protocol=2)
    else:
        made = redis.Redis.from_url(request.getfixturevalue("redis_url"), protocol=2)
    with made:
        yield made


@pytest.fixture
def worker(client: redis.Redis) -> Callable[..., Bells]:
    """Return a function that makes the view of one worker, with a lease of 15 s."""

    def make(name: str, lease: float = 15.0) -> Bells:
        return Bells(client, LAYOUT, name, lease)

    return make


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Callable[..., OwnRedis]]:
    """Return a function that starts a redis-server for this test alone."""
    started: list[OwnRedis] = []

    def start(**settings: str) -> OwnRedis:
        folder = tmp_path / f"redis-{len(started)}"
        folder.mkdir()
        started.append(OwnRedis(folder, **settings))
        return started[-1]

    yield start
    for server in started:
        server.go_on_and_kill()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Callable[[str], Home]]:
    """Return a function that makes a home whose apps use the Redis at an address."""
    made: list[Home] = []

    def make(url: str) -> Home:
        new_database(tmp_path / "home" / "keptstep.db")
        made.append(Home(tmp_path / "home", url))
        return made[-1]

    yield make
    for one in made:
        one.close()
