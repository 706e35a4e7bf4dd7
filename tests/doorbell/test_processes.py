"""Several worker processes on one home, through one Redis, some of them killed."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from keptstep import App, Settings
from keptstep.models.ids import TaskId
from keptstep.models.states import TaskStatus
from tests.doorbell.apps import every_step_once, waiting
from tests.doorbell.job import fan, poisoned
from tests.doorbell.server import OwnRedis
from tests.template import new_database
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.crash]

Worker = subprocess.Popen[bytes]


class Workers:
    """Processes that run `keptstep worker` on one home."""

    def __init__(self, folder: Path, url: str) -> None:
        self.home = folder / "home"
        self.counts = folder / "counts"
        self.url = url
        self.running: list[Worker] = []
        new_database(self.home / "keptstep.db")
        self.app = App.open(settings=Settings.load(self.home, {}))

    def start(self, *, redis_url: str | None = None, grace: str = "5") -> Worker:
        """Start one more."""
        given = {
            "COUNTS": str(self.counts),
            "KEPTSTEP_REDIS_URL": self.url if redis_url is None else redis_url,
            "KEPTSTEP_SWEEP": "0.3",
            "KEPTSTEP_GRACE": grace,
            "KEPTSTEP_WORKERS": "4",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        command = [sys.executable, "-m", "keptstep", "worker", "--home", str(self.home)]
        command += ["--import", "tests.doorbell.job"]
        with (self.counts.with_name("log")).open("ab") as log:
            worker = subprocess.Popen(
                command, env=os.environ | given, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        self.running.append(worker)
        return worker

    def kill(self, worker: Worker) -> None:
        """End one with -9."""
        worker.kill()
        worker.wait()
        self.running.remove(worker)

    def called(self) -> list[int]:
        """Return the numbers of the steps that were called so far."""
        return [int(line) for line in self.counts.read_text().split()]

    def workers_of(self, task: TaskId) -> set[str]:
        """Return who worked on the steps of a task."""
        store = self.app.store
        return {
            attempt.worker for step in store.steps(task) for attempt in store.attempts(step.id)
        }

    def close(self) -> None:
        """End all, as planned."""
        for worker in self.running:
            worker.send_signal(signal.SIGTERM)
        codes = [worker.wait(20) for worker in self.running]
        self.app.close()
        # Who is stopped while it still starts says that it was interrupted.
        assert set(codes) <= {0, 143, -signal.SIGTERM}, self.counts.with_name("log").read_text()


@pytest.fixture
def workers(tmp_path: Path, redis_url: str) -> Iterator[Workers]:
    made = Workers(tmp_path, redis_url)
    yield made
    made.close()


def test_processes_of_one_home_share_the_steps_of_one_task(workers: Workers) -> None:
    for _ in range(3):
        workers.start()
    task = workers.app.submit(fan, count=120, seconds=0.05)
    assert task.result(50).value == sum(range(120))
    every_step_once(workers.app, task.id, 120)
    assert len(workers.workers_of(task.id)) == 3
    assert sorted(workers.called()) == list(range(120)), "no step was called twice"


def test_without_redis_they_share_them_too(workers: Workers) -> None:
    for _ in range(2):
        workers.start(redis_url="")
    task = workers.app.submit(fan, count=60, seconds=0.05)
    assert task.result(50).value == sum(range(60))
    every_step_once(workers.app, task.id, 60)
    assert sorted(workers.called()) == list(range(60))


def test_the_steps_of_a_killed_worker_are_another_s(workers: Workers) -> None:
    first = workers.start()
    task = workers.app.submit(fan, count=12, seconds=0.5)
    until(lambda: workers.counts.exists() and len(workers.called()) >= 4, "four are called")
    workers.start()
    workers.kill(first)
    assert task.result(50).value == sum(range(12))
    every_step_once(workers.app, task.id, 12)
    assert len(workers.called()) <= 12 + 4, "only what was in the dead one's hands is called again"


def test_a_worker_that_is_stopped_gives_its_steps_to_another(workers: Workers) -> None:
    first = workers.start(grace="0.2")
    task = workers.app.submit(fan, count=8, seconds=2.0)
    until(lambda: workers.counts.exists() and len(workers.called()) >= 4, "four are called")
    workers.start()
    first.send_signal(signal.SIGTERM)
    assert first.wait(20) == 0
    workers.running.remove(first)
    assert task.result(50).value == sum(range(8))
    every_step_once(workers.app, task.id, 8)
    tries = [len(workers.app.store.attempts(step.id)) for step in workers.app.store.steps(task.id)]
    assert sorted(tries) == [1] * 4 + [2] * 4
    assert {step.attempts for step in workers.app.store.steps(task.id)} == {1}, "not counted"


def test_a_step_that_kills_every_worker_ends_at_its_cap_and_starves_nobody(
    workers: Workers,
) -> None:
    bad = workers.app.submit(poisoned)
    good = workers.app.submit(fan, count=40, seconds=0.02)
    workers.start()

    def restart() -> bool:
        for worker in [one for one in workers.running if one.poll() is not None]:
            workers.running.remove(worker)
            workers.start()
        return bad.task().ended_at is not None

    until(restart, "the step is given up", seconds=50)
    assert bad.task().status is TaskStatus.FAILED
    assert workers.called().count(666) == 3
    assert good.result(20).value == sum(range(40))


@pytest.mark.timeout(110)
@pytest.mark.parametrize("seed", [11])
def test_hundreds_of_steps_survive_kills_and_wiped_servers(
    workers: Workers, redis_url: str, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(3):
        workers.start()
    task = workers.app.submit(fan, count=300, seconds=0.03)
    left = waiting(workers.app, task.id)
    until(workers.counts.exists, "work has begun")
    killed = 0

    def trouble() -> bool:
        nonlocal killed
        remaining = left()
        with redis.Redis.from_url(redis_url) as client:
            if chance.random() < 0.05:
                client.flushdb()
        if len(workers.called()) > 60 * (killed + 1) and killed < 4:
            killed += 1
            workers.kill(chance.choice(workers.running))
            workers.start()
        return not remaining and workers.app.store.task(task.id).ended_at is not None

    until(trouble, "the task ends in spite of it", seconds=90)
    assert task.result(20).value == sum(range(300))
    every_step_once(workers.app, task.id, 300)
    assert killed >= 2, f"seed {seed} made too little trouble"


def test_a_worker_refuses_a_server_that_drops_messages(
    workers: Workers, own_redis: Callable[..., OwnRedis]
) -> None:
    server = own_redis(maxmemory="10mb", maxmemory_policy="allkeys-lru")
    secret = server.url.replace("//", "//keptstep:s3cret@")
    server.client.acl_setuser(
        "keptstep", enabled=True, passwords="+s3cret", categories=["+@all"], keys=["*"]
    )
    worker = workers.start(redis_url=secret)
    assert worker.wait(20) == 2
    workers.running.remove(worker)
    said = workers.counts.with_name("log").read_text()
    assert "set maxmemory-policy to noeviction" in said
    assert "s3cret" not in said
    assert len(said.splitlines()) <= 2, said
