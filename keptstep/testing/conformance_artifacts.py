# ruff: noqa: D102, S101, PLR2004 - tests: a name that says the rule, and checks that say so
"""What every artifact store has to do, as tests that any project can run over its own store.

Make a subclass in a test module, and in it a pytest fixture ``make_store`` that gives a function
from ``max_bytes`` to an empty store, and the two hooks that damage a store::

    class TestMyStore(ArtifactStoreConformance):
        @pytest.fixture
        def make_store(self, tmp_path): return lambda max_bytes: MyStore(tmp_path, max_bytes)
        def tamper(self, store, sha): ...
        def drop(self, store, sha): ...

This module needs no pytest itself. For failures that show both sides call
``pytest.register_assert_rewrite("keptstep.testing.conformance_artifacts")`` before importing it.
"""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from keptstep.models.errors import ArtifactCorrupt, ArtifactMissing, KeptstepError, TooLarge
from keptstep.models.ids import Sha256
from keptstep.workflows.ports import ArtifactStore

MAX_BYTES = 1 << 30
MAKER = Callable[[int], ArtifactStore]


class ArtifactStoreConformance:
    """The behaviour of ``ArtifactStore``; one test a rule."""

    #: Whether memory stays flat however large the payload; false for stores in memory.
    streams = True

    def tamper(self, store: Any, sha: Sha256) -> None:
        """Flip one bit of the kept payload, behind the store's back."""
        raise NotImplementedError

    def drop(self, store: Any, sha: Sha256) -> None:
        """Take the kept payload away, behind the store's back."""
        raise NotImplementedError

    # -- keeping -----------------------------------------------------------------------------
    def test_what_is_put_is_read_back_under_its_hash(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        data = bytes(range(256)) * 5
        blob = store.put([data])
        assert (blob.sha, blob.size) == (sha256(data).hexdigest(), len(data))
        assert store.read(blob.sha) == data
        with store.open(blob.sha) as file:
            assert file.tell() == 0
            assert file.read() == data
        assert store.intact(blob.sha)

    def test_how_the_payload_is_cut_into_chunks_does_not_matter(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        whole = store.put([b"abcdef"])
        assert store.put([b"", b"a", b"bcd", b"", b"ef"]) == whole
        assert store.put(bytes([byte]) for byte in b"abcdef") == whole
        assert list(store.shas()) == [whole.sha]

    def test_an_empty_payload_is_a_payload(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        blobs = {store.put([]), store.put([b""])}
        assert len(blobs) == 1
        blob = blobs.pop()
        assert (blob.sha, blob.size) == (sha256().hexdigest(), 0)
        assert store.read(blob.sha) == b""
        with store.open(blob.sha) as file:
            assert file.read() == b""

    def test_all_hashes_are_listed_once(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        assert list(store.shas()) == []
        kept = [store.put([bytes([number])]).sha for number in (1, 2, 3, 2, 1)]
        assert sorted(store.shas()) == sorted(set(kept))

    def test_many_threads_may_put_the_same_bytes_at_once(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        together = threading.Barrier(12)
        data = bytes(100_000)

        def put(_number: int) -> Sha256:
            together.wait()
            sha = store.put([data[:50_000], data[50_000:]]).sha
            assert store.read(sha) == data
            return sha

        with ThreadPoolExecutor(12) as pool:
            shas = set(pool.map(put, range(12)))
        assert list(store.shas()) == list(shas) == [sha256(data).hexdigest()]

    def test_many_threads_may_put_different_bytes_at_once(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)

        def put(number: int) -> bool:
            data = f"{number % 40}".encode() * 999
            return store.read(store.put([data]).sha) == data

        with ThreadPoolExecutor(12) as pool:
            assert all(pool.map(put, range(120)))
        assert len(list(store.shas())) == 40

    def test_a_large_payload_takes_little_memory(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        chunk = bytes(1 << 20)
        # A store that streams holds a chunk or two; one in memory the payload, and twice.
        count, bound = (64, 8 << 20) if self.streams else (4, 64 << 20)
        tracemalloc.start()
        try:
            blob = store.put(chunk for _ in range(count))
            assert store.intact(blob.sha)
            with store.open(blob.sha) as file:
                read = sum(len(block) for block in iter(lambda: file.read(1 << 16), b""))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert read == blob.size == count << 20
        assert peak < bound

    # -- limits and failing sources ----------------------------------------------------------
    def test_a_payload_as_large_as_the_limit_is_kept(self, make_store: MAKER) -> None:
        store = make_store(10)
        assert store.put([b"12345", b"67890"]).size == 10
        assert store.put([b"1234"], limit=4).size == 4
        assert store.put([], limit=0).size == 0

    def test_one_byte_over_the_limit_is_refused_and_nothing_stays(self, make_store: MAKER) -> None:
        store = make_store(10)
        for chunks, limit in (
            ([b"12345", b"678901"], None),
            ([b"12345"], 4),
            ([b"x" * 11], 1000),
            ([b"x"], 0),
        ):
            with refused(TooLarge):
                store.put(chunks, limit)
        assert list(store.shas()) == []

    def test_an_endless_source_is_stopped_by_the_limit(self, make_store: MAKER) -> None:
        store = make_store(10_000)
        with refused(TooLarge):
            store.put(iter(lambda: b"again and again", b""))

    def test_what_the_chunks_raise_passes_on_and_nothing_stays(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)

        def cut_off() -> Iterator[bytes]:
            yield b"the first part"
            # An OSError too: it speaks of the source, not of the store.
            raise ConnectionResetError("the provider hung up")

        with refused(ConnectionResetError):
            store.put(cut_off())
        assert list(store.shas()) == []

    # -- damage ------------------------------------------------------------------------------
    def test_one_flipped_bit_is_found_by_every_way_to_read(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        for data in (b"x", bytes(300_000)):
            sha = store.put([data]).sha
            self.tamper(store, sha)
            with refused(ArtifactCorrupt) as caught:
                store.read(sha)
            assert sha[:8] in str(caught[0])
            with refused(ArtifactCorrupt):
                store.open(sha)
            assert not store.intact(sha)

    def test_a_payload_that_is_gone_is_missing_by_every_way_to_read(
        self, make_store: MAKER
    ) -> None:
        store = make_store(MAX_BYTES)
        sha = store.put([b"here today"]).sha
        self.drop(store, sha)
        with refused(ArtifactMissing) as caught:
            store.read(sha)
        assert sha[:8] in str(caught[0])
        with refused(ArtifactMissing):
            store.open(sha)
        assert not store.intact(sha)
        assert list(store.shas()) == []

    def test_putting_the_bytes_again_mends_a_damaged_payload(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        for damage in (self.tamper, self.drop):
            blob = store.put([b"mend me"])
            damage(store, blob.sha)
            assert store.put([b"mend me"]) == blob
            assert store.read(blob.sha) == b"mend me"

    def test_other_payloads_are_not_touched_by_damage(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        kept, damaged = store.put([b"kept"]), store.put([b"damaged"])
        self.tamper(store, damaged.sha)
        assert store.read(kept.sha) == b"kept"

    # -- names -------------------------------------------------------------------------------
    def test_what_only_looks_like_a_hash_is_missing(self, make_store: MAKER) -> None:
        store = make_store(MAX_BYTES)
        sha = store.put([b"look at me"]).sha
        for alike in look_alikes(sha):
            with refused(ArtifactMissing):
                store.read(Sha256(alike))
            with refused(ArtifactMissing):
                store.open(Sha256(alike))
            assert not store.intact(Sha256(alike))

    def test_errors_are_one_line_without_the_payload(self, make_store: MAKER) -> None:
        store = make_store(60)
        secret = b"a secret that no message may show"
        sha = store.put([secret]).sha
        self.tamper(store, sha)
        messages = []
        for name in (sha, Sha256("f" * 64), Sha256("two\nlines")):
            with refused(KeptstepError) as caught:
                store.read(name)
            messages.append(str(caught[0]))
        with refused(TooLarge) as caught:
            store.put([secret, secret])
        messages.append(str(caught[0]))
        assert [text for text in messages if "\n" in text or "secret" in text] == []


def look_alikes(sha: str) -> list[str]:
    """Return names that differ from the hash only a little, or that would leave the folder."""
    fullwidth = sha.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)})
    return [
        sha.upper(),
        sha[:63],
        sha + "0",
        sha + "\n",
        " " + sha[1:],
        "0x" + sha[2:],
        "g" + sha[1:],
        sha[:2] + "/" + sha[3:],
        sha[:2] + "/" + sha,
        "../" + sha[:2] + "/" + sha,
        "/" + sha[1:],
        "\0" + sha[1:],
        "." * 64,
        fullwidth,
        "",
    ]


@contextmanager
def refused(kind: type[Exception]) -> Iterator[list[Exception]]:
    """Fail unless a ``kind`` is raised within; the list given then holds it."""
    caught: list[Exception] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
