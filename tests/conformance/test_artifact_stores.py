"""Both artifact stores keep the rules that every artifact store has to keep."""

from pathlib import Path
from typing import Any

import pytest

from keptstep.models.ids import Sha256
from keptstep.models.stores.artifacts_fs import FileArtifactStore
from keptstep.testing.conformance_artifacts import MAKER, ArtifactStoreConformance
from keptstep.testing.damage import FragileMemoryStore, drop_file, tamper_file


class TestMemoryArtifactStore(ArtifactStoreConformance):
    streams = False

    @pytest.fixture
    def make_store(self) -> MAKER:
        return FragileMemoryStore

    def tamper(self, store: Any, sha: Sha256) -> None:
        store.tamper(sha)

    def drop(self, store: Any, sha: Sha256) -> None:
        store.drop(sha)


class TestFileArtifactStore(ArtifactStoreConformance):
    root: Path

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MAKER:
        self.root = tmp_path / "blobs"
        return lambda max_bytes: FileArtifactStore(self.root, max_bytes)

    def tamper(self, store: Any, sha: Sha256) -> None:
        tamper_file(self.root, sha)

    def drop(self, store: Any, sha: Sha256) -> None:
        drop_file(self.root, sha)
