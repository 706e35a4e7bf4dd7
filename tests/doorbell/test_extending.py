"""Another process keeps a worker's messages for it: the lease guard's part."""

import subprocess
import sys
from pathlib import Path

import pytest
import redis

from keptstep.workers.lease_broker.bells import Bells
from keptstep.workers.lease_broker.script import Op
from tests.doorbell.conftest import step

EXTEND = """
import sys
from pathlib import Path
from keptstep.models.ids import StepId
from keptstep.workers.lease_broker.bells import Bells

url, home, worker, *digits = sys.argv[1:]
bells = Bells.open(url, Path(home), worker, 60.0)
print(bells.extend([(StepId(bytes.fromhex(one)), "read") for one in digits]))
print(*sorted({"dramatiq", "sqlalchemy", "pydantic"} & set(sys.modules)))
"""


def extend(url: str, home: Path, worker: str, *digits: str) -> list[str]:
    command = [sys.executable, "-c", EXTEND, url, str(home), worker, *digits]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return run.stdout.split("\n")[:2]


@pytest.mark.slow
def test_a_small_process_extends_what_its_worker_holds_and_nothing_else(
    redis_url: str, tmp_path: Path
) -> None:
    mine = Bells.open(redis_url, tmp_path, "mine", 15.0)
    theirs = Bells.open(redis_url, tmp_path, "theirs", 15.0)
    mine.tell([Op("ring", step(n), "read") for n in range(3)])
    assert len(mine.take(["read"], 2).messages) == 2
    assert len(theirs.take(["read"], 1).messages) == 1
    extended, heavy = extend(redis_url, tmp_path, "mine", step(0), step(1), step(2), step(9))
    assert (extended, heavy) == ("2", "")
    with redis.Redis.from_url(redis_url) as client:
        (key,) = client.scan_iter("*:tool:read")
        scores = [client.zscore(key, step(n)) for n in range(3)]
    assert scores[0] == scores[1]
    assert scores[0] - scores[2] > 30_000, "by the lease that was given, 60 s instead of 15"
    mine.close()
    theirs.close()
