"""A payload of a gigabyte goes through the file store in a few megabytes of memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

GIBIBYTE = 1 << 30
#: Puts, checks and reads the payload, and tells how far the process grew beyond its start, in
#: bytes. The peak of the whole process, so that nothing outside of Python's own count is missed.
THERE_AND_BACK = """
import json, resource, sys
from pathlib import Path
from keptstep.models.stores.artifacts_fs import FileArtifactStore

unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
size = int(sys.argv[2])
store = FileArtifactStore(Path(sys.argv[1]), size)
chunk = bytes(range(256)) * 4096
before = peak()
blob = store.put(chunk for _ in range(size // len(chunk)))
assert store.intact(blob.sha)
with store.open(blob.sha) as file:
    read = sum(len(block) for block in iter(lambda: file.read(1 << 20), b""))
print(json.dumps({"size": blob.size, "read": read, "grown": peak() - before}))
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_gibibyte_takes_a_few_mebibytes_of_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", THERE_AND_BACK, str(tmp_path / "blobs"), str(GIBIBYTE)],
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    assert told["size"] == told["read"] == GIBIBYTE
    assert told["grown"] < 32 << 20
