"""A service that is not there: a skip on a laptop, a failure under CI."""

import pytest

ASKS_FOR_REDIS = """
from tests.conftest import redis_url

def test_asks(redis_url):
    raise AssertionError("must not get this far")
"""


@pytest.fixture
def without_redis(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("KEPTSTEP_TEST_REDIS_URL", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(ASKS_FOR_REDIS)
    return pytester


@pytest.mark.parametrize("ci", ["", "0", "false"])
def test_a_laptop_without_redis_skips(
    without_redis: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)
    outcome = without_redis.runpytest_inprocess("-rs", "-p", "no:cacheprovider")
    outcome.assert_outcomes(skipped=1)
    outcome.stdout.fnmatch_lines(["*KEPTSTEP_TEST_REDIS_URL is not set*"])


@pytest.mark.parametrize("ci", ["true", "1"])
def test_ci_without_redis_fails(
    without_redis: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)
    outcome = without_redis.runpytest_inprocess("-p", "no:cacheprovider")
    outcome.assert_outcomes(errors=1)
    outcome.stdout.fnmatch_lines(["*KEPTSTEP_TEST_REDIS_URL is not set*"])
