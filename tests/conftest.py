"""What every test may rely on: a quiet environment, repeatable examples, a clean Redis."""

import os

import pytest
from hypothesis import settings

from tests.services import service_url

# Checks in the shipped suites show both sides when they fail, as those in test files do.
pytest.register_assert_rewrite("keptstep.testing")

# The same examples in every run: a red test stays red until somebody mends it. The chaos
# runs load a profile of their own.
settings.register_profile("keptstep", derandomize=True, deadline=None, database=None)
settings.load_profile("keptstep")


def pytest_configure() -> None:
    """Forget the settings of the developer's shell; only the tests' own services stay."""
    for name in list(os.environ):
        if name.startswith("KEPTSTEP_") and not name.startswith("KEPTSTEP_TEST_"):
            del os.environ[name]


@pytest.fixture
def redis_url() -> str:
    """Return the URL of an empty Redis database that no other test worker uses.

    The server named by KEPTSTEP_TEST_REDIS_URL is for tests alone: its databases are
    emptied.
    """
    import redis

    server = service_url("KEPTSTEP_TEST_REDIS_URL", "Redis server").rstrip("/")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    url = f"{server}/{int(worker) % 16}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url
