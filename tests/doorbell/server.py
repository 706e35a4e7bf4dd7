"""A Redis server of a test's own, to be killed, stalled, limited and restarted."""

import os
import random
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import redis

from tests.services import service_program
from tests.waiting import until


class OwnRedis:
    """A redis-server on a port of its own; `settings` as on its command line, without dashes."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        password = settings.get("requirepass")
        self.client = redis.Redis(port=self.port, password=password, protocol=2)
        self._folder = folder
        self._settings = {"save": "", "appendonly": "no"} | settings
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, again if need be, and wait until it answers."""
        given = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self._folder)}
        command = [service_program("redis-server", "Redis server")]
        for name, value in (given | self._settings).items():
            command += [f"--{name.replace('_', '-')}", value]
        log = (self._folder / "redis.log").open("ab")
        with log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until(lambda: self._ended() or self.answers(), "the redis-server answers")
        assert not self._ended(), (self._folder / "redis.log").read_text()

    def answers(self) -> bool:
        """Whether it can be talked to."""
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
            self.client.connection_pool.disconnect()

    def stall(self) -> None:
        """Let it keep its connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again."""
        self._signal(signal.SIGCONT)

    def go_on_and_kill(self) -> None:
        """End it, whatever state it is in."""
        if self._process is not None:
            self.go_on()
        self.kill()
        self.client.close()

    def commands(self) -> dict[str, int]:
        """Return how often each command was called so far, those inside scripts included."""
        stats: dict[str, Any] = self.client.info("commandstats")
        return {name.removeprefix("cmdstat_"): row["calls"] for name, row in stats.items()}

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)


def _free_port() -> int:
    """Return a free port below those the system gives to clients.

    Among those, a client that looks for a dead server could connect to itself. A cluster also
    needs the port 10,000 above.
    """
    for port in random.sample(range(12_000, 22_000), 100):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
