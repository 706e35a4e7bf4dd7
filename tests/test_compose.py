"""What a reader of compose.yaml and the Dockerfile relies on."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from keptstep.config import PREFIX, Settings

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: Any = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
WORKER = SERVICES["worker"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SETTINGS = {PREFIX + field.name.upper() for field in dataclasses.fields(Settings)}


def test_it_runs_redis_postgres_and_a_worker() -> None:
    assert set(SERVICES) == {"redis", "postgres", "worker"}
    assert SERVICES["redis"]["image"].startswith("redis:")
    assert SERVICES["postgres"]["image"].startswith("postgres:17")


def test_redis_persists_and_never_evicts() -> None:
    command = " ".join(SERVICES["redis"]["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command


@pytest.mark.parametrize(
    ("service", "probe"), [("redis", "redis-cli"), ("postgres", "pg_isready")]
)
def test_each_service_says_when_it_is_healthy(service: str, probe: str) -> None:
    check = SERVICES[service]["healthcheck"]
    assert check["test"][:2] == ["CMD", probe]
    assert {"interval", "timeout", "retries"} <= set(check)


def test_the_worker_waits_until_every_service_is_healthy() -> None:
    others = set(SERVICES) - {"worker"}
    assert WORKER["depends_on"] == {name: {"condition": "service_healthy"} for name in others}


def test_ports_are_published_to_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_passwords_come_from_the_environment_or_compose_stops() -> None:
    variables: dict[str, str] = {}
    for service in SERVICES.values():
        variables |= service.get("environment", {})
    secret = re.compile(r"pass|secret|token|key", re.IGNORECASE)
    secrets = {name: value for name, value in variables.items() if secret.search(name)}
    assert set(secrets) == {"POSTGRES_PASSWORD"}
    for name, value in secrets.items():
        assert value.startswith(f"${{{name}:?"), f"{name} is written into compose.yaml"
    # A URL with a password inside would be one written down, too.
    assert re.findall(r"://[^\s/]*:(?!\$\{POSTGRES_PASSWORD:\?)[^\s/]*@", TEXT) == []


def test_every_named_volume_is_declared() -> None:
    used = {
        volume.partition(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    }
    assert used == set(COMPOSE["volumes"])


def test_the_worker_is_given_settings_that_exist() -> None:
    given = {name for name in WORKER["environment"] if name.startswith(PREFIX)}
    assert given
    assert given - SETTINGS == set(), "no setting reads these"


def test_the_worker_is_told_of_every_service_it_can_use() -> None:
    addresses = {name for name in SETTINGS if name.endswith("_URL")}
    assert addresses - set(WORKER["environment"]) == set(), "compose.yaml does not set these"


def test_what_the_worker_keeps_lies_on_a_volume() -> None:
    home = WORKER["environment"][f"{PREFIX}HOME"]
    assert [volume.partition(":")[2] for volume in WORKER["volumes"]] == [home]
    assert f"{PREFIX}HOME={home}" in DOCKERFILE
    assert f"VOLUME {home}" in DOCKERFILE


def test_the_worker_gets_more_time_to_stop_than_it_takes() -> None:
    grace = re.fullmatch(r"(\d+)s", WORKER["stop_grace_period"])
    assert grace is not None
    assert int(grace.group(1)) > Settings(home=ROOT).grace


def test_the_command_the_worker_runs_exists() -> None:
    assert 'ENTRYPOINT ["keptstep"]' in DOCKERFILE
    command = [sys.executable, "-m", "keptstep", *WORKER["command"], "--help"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_image_installs_only_what_the_locks_allow() -> None:
    installs = re.findall(r"pip install (.*)", DOCKERFILE)
    assert len(installs) == 3
    for arguments in installs:
        assert "--require-hashes" in arguments or "--no-deps" in arguments, arguments


def test_the_image_does_not_run_as_root() -> None:
    users = re.findall(r"^USER (\S+)", DOCKERFILE, flags=re.MULTILINE)
    assert users[-1:] == ["keptstep"]
    last = [line.split()[0] for line in DOCKERFILE.splitlines() if line[:1].isupper()]
    assert "RUN" not in last[last.index("USER") :]


def test_every_file_the_image_copies_is_there() -> None:
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, flags=re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source
