"""Settings: what is refused, and what is never shown."""

from pathlib import Path

import pytest

from keptstep import BadInput, Settings

URL = "redis://keptstep:s3cret@localhost:6379/0"


def load(tmp_path: Path, url: str) -> Settings:
    return Settings.load(tmp_path, {"KEPTSTEP_REDIS_URL": url})


def test_the_address_of_redis_is_taken_from_the_environment(tmp_path: Path) -> None:
    assert load(tmp_path, URL).redis_url == URL
    assert load(tmp_path, "").redis_url == ""
    assert Settings.load(tmp_path, {}).redis_url == ""


def test_a_password_is_not_part_of_what_settings_show(tmp_path: Path) -> None:
    settings = load(tmp_path, URL)
    assert "s3cret" not in f"{settings!r} {settings}"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://user:s3cret@localhost",
        "redis://user:s3cret@localhost:port",
        "redis://user:s3cret@[::1",
        "redis://localhost:0",
        "s3cret",
    ],
)
def test_what_is_no_address_is_refused_without_being_quoted(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadInput, match="KEPTSTEP_REDIS_URL must be an address") as error:
        load(tmp_path, url)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan"])
def test_a_number_that_would_stand_still_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match="KEPTSTEP_SWEEP must be above 0"):
        Settings.load(tmp_path, {"KEPTSTEP_SWEEP": text})
