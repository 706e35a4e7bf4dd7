"""Python values and the payloads they are kept as: results, refs and arguments."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any, BinaryIO, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from keptstep.models.artifacts import BYTES_TYPE, JSON_TYPE, TEXT_TYPE, ArtifactRef
from keptstep.models.canonical import MAX_DEPTH, Arguments, InputRef, Path, encode
from keptstep.models.errors import BadInput, NotSerializable
from keptstep.workflows.ports import ArtifactStore

T = TypeVar("T")
_PLAIN = frozenset({str, bool, int, float})


@dataclasses.dataclass(frozen=True)
class Payload:
    """What a tool returns when it wants a say in how its result is kept.

    ``data`` may be bytes or an iterable of bytes, which is streamed to the file. ``sources`` are
    the refs the result was derived from (class 4); by default the refs among the inputs (D45).
    """

    data: bytes | Iterable[bytes]
    media_type: str = BYTES_TYPE
    sources: tuple[ArtifactRef, ...] = ()


class Result(Generic[T]):
    """A kept result: ``ref`` passes it on, ``value`` loads it when it is first asked for."""

    __slots__ = ("_artifacts", "_cached", "_on_load", "_ref", "_type")

    def __init__(
        self,
        ref: ArtifactRef | Callable[[], ArtifactRef],
        artifacts: ArtifactStore,
        as_type: Any = None,
        on_load: Callable[[], None] | None = None,
    ) -> None:
        self._ref = ref
        self._artifacts = artifacts
        self._type = as_type
        self._on_load = on_load
        self._cached: tuple[T] | None = None

    @property
    def ref(self) -> ArtifactRef:
        """What is passed on instead of the value; its record is read when first asked for."""
        if not isinstance(self._ref, ArtifactRef):
            self._ref = self._ref()
        return self._ref

    @property
    def value(self) -> T:
        """The value, checked against its hash; raises ``ArtifactMissing``, ``ArtifactCorrupt``."""
        if self._cached is None:
            if self._on_load is not None:
                self._on_load()
            data = self._artifacts.read(self.ref.sha)
            self._cached = (decode_value(data, self.ref.media_type, self._type),)
        return self._cached[0]

    def open(self) -> BinaryIO:
        """Open the checked bytes without loading them into memory."""
        if self._on_load is not None:
            self._on_load()
        return self._artifacts.open(self.ref.sha)

    def __repr__(self) -> str:
        """Name the artifact; never its content."""
        return f"<Result {self.ref.id.hex()[-8:]} {self.ref.media_type} {self.ref.size} bytes>"


def encode_value(value: object) -> tuple[bytes, str]:
    """Return the bytes a result is kept as and their media type.

    Text and bytes are kept as they are, lone surrogates included; everything else as JSON.
    Raises ``NotSerializable``.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value), BYTES_TYPE
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass"), TEXT_TYPE
    return encode(plain(value), sort=False).encode(), JSON_TYPE


def decode_value(data: bytes, media_type: str, as_type: Any = None) -> Any:
    """Return the value ``encode_value`` was given, shaped as ``as_type`` if one is given."""
    try:
        value = _decoded(data, media_type)
    except (ValueError, LookupError):
        raise BadInput(f"the kept bytes are not {media_type} after all") from None
    return shape(value, as_type, "the kept result")


def _decoded(data: bytes, media_type: str) -> Any:
    if media_type == JSON_TYPE:
        return json.loads(data)
    if not media_type.startswith("text/"):
        return data
    charset = media_type.partition("charset=")[2].strip() or "utf-8"
    return data.decode(charset, "surrogatepass" if charset.lower() == "utf-8" else "strict")


def shape(value: Any, as_type: Any, what: str) -> Any:
    """Turn a plain value into ``as_type``; raises ``BadInput`` naming ``what``, not the value."""
    if as_type in (None, Any):
        return value
    try:
        return _adapter(as_type).validate_python(value)
    except PydanticUserError:
        return value  # a type that says nothing about how a plain value becomes one
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole value"
        raise BadInput(f"{what} does not fit {as_type!r}: {where}: {first['type']}") from None


@lru_cache(maxsize=1024)
def _cached_adapter(as_type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(as_type)


def _adapter(as_type: Any) -> TypeAdapter[Any]:
    try:
        return _cached_adapter(as_type)
    except TypeError:  # a type that cannot be a key
        return TypeAdapter(as_type)


def arguments(inputs: Mapping[str, object]) -> Arguments:
    """Split a call's arguments into plain values and refs; raises ``NotSerializable``."""
    refs: list[InputRef] = []
    values = {name: plain(value, refs, (name,)) for name, value in inputs.items()}
    return Arguments(values, tuple(refs))


def plain(value: object, refs: list[InputRef] | None = None, path: Path = ()) -> Any:
    """Return ``value`` as plain JSON values.

    Dataclasses and pydantic models become objects, tuples lists, dates and paths text. A
    ``Result`` or ``ArtifactRef`` goes to ``refs`` and leaves ``None``; without ``refs`` it is
    refused, because a result that hides a ref would lose its lineage.
    """
    if value is None or type(value) in _PLAIN:
        return value
    if len(path) > MAX_DEPTH:
        raise NotSerializable(f"the value is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Result | ArtifactRef):
        return _take_ref(value, refs, path)
    if isinstance(value, Mapping):
        return {_key(key): plain(item, refs, (*path, _key(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, refs, (*path, place)) for place, item in enumerate(value)]
    return plain(_opened(value), refs, path)


def put_back(values: Any, places: Iterable[tuple[Path, object]]) -> Any:
    """Put objects where ``arguments`` left ``None``; the lists and dicts given are changed."""
    for path, item in places:
        holder = values
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = item
    return values


def _take_ref(value: Any, refs: list[InputRef] | None, path: Path) -> None:
    ref: ArtifactRef = value.ref if isinstance(value, Result) else value
    if refs is None:
        raise NotSerializable(
            "a result holds a reference to another result: return its value, or pass the "
            "reference on as an input"
        )
    refs.append(InputRef(path, ref.id, ref.sha))


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise NotSerializable(f"a key is a {type(key).__name__}, and JSON keys are text")


def _opened(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for kind, opened in _OPENERS:
        if isinstance(value, kind):
            return opened(value)
    raise NotSerializable(f"a value of type {type(value).__name__} cannot be kept as JSON")


#: How values of known kinds become plain ones; the first that fits is taken.
_OPENERS: tuple[tuple[Any, Callable[[Any], object]], ...] = (
    (BaseModel, lambda value: value.model_dump(warnings="none")),
    (Enum, lambda value: value.value),
    ((date, datetime), lambda value: value.isoformat()),
    ((PurePath, UUID), str),
    # A subclass of a plain type counts as the plain one, whatever it says of itself.
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)
