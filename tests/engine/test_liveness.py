"""Proof of death: a lock that a living process holds and a dead one does not."""

import subprocess
import sys
from pathlib import Path

from keptstep.models.ids import WorkerId
from keptstep.workers.liveness import Liveness, host_name, proven_dead

CHILD = """
import sys
from pathlib import Path
from keptstep.workers.liveness import Liveness
print(Liveness(Path(sys.argv[1])).worker, flush=True)
sys.stdin.read()
"""


def test_a_worker_lives_until_it_is_killed_and_is_proven_dead_at_once(tmp_path: Path) -> None:
    watcher = Liveness(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    worker = WorkerId(child.stdout.readline().strip())
    assert watcher.others() == {worker}
    assert watcher.dead({worker}) == set()
    child.kill()
    child.communicate()
    assert watcher.dead({worker}) == {worker}
    watcher.forget(worker)
    assert watcher.others() == set()
    watcher.close()


def test_of_a_worker_of_another_host_or_without_a_file_nothing_is_proven(tmp_path: Path) -> None:
    (tmp_path / "ffffffff-1234.lock").touch()
    assert not proven_dead(tmp_path, WorkerId("ffffffff-1234"))
    assert not proven_dead(tmp_path, WorkerId(f"{host_name()}-gone"))


def test_a_starting_worker_is_never_seen_without_its_lock(tmp_path: Path) -> None:
    """Sweep as fast as can be while workers start: none may be called dead."""
    import threading

    watcher = Liveness(tmp_path)
    stop = threading.Event()
    called_dead: set[WorkerId] = set()

    def sweep() -> None:
        while not stop.is_set():
            called_dead.update(watcher.dead(watcher.others()))

    sweeping = threading.Thread(target=sweep)
    sweeping.start()
    workers = [Liveness(tmp_path) for _ in range(200)]
    stop.set()
    sweeping.join()
    assert called_dead == set()
    for worker in [*workers, watcher]:
        worker.close()


def test_a_planned_end_leaves_no_file(tmp_path: Path) -> None:
    Liveness(tmp_path).close()
    assert list(tmp_path.iterdir()) == []
