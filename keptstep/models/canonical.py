"""One text for one value: the JSON that inputs are kept, compared and hashed by (D10).

The shape of RFC 8785 (sorted keys, no white space, no NaN, no duplicate keys, no Unicode
normalisation) with three differences, because equal texts must mean equal Python values: whole
numbers keep all their digits, ``1.0`` stays apart from ``1``, and text is escaped to ASCII so
that a lone surrogate survives.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from keptstep.models.errors import BadInput, NotSerializable
from keptstep.models.ids import ArtifactId, Sha256

#: Deeper values are refused: parsers of other languages stop at about this depth too.
MAX_DEPTH = 200
#: Literal inputs up to this many bytes stand in the row; larger ones are files (D49).
MAX_LITERAL = 1024

_SIMPLE = (str, bool, int, type(None))
_NAMED_DEPTH = 4
_NAMED_LENGTH = 40

#: Where a ref stands in the arguments: keys and positions from the top.
Path = tuple[str | int, ...]


def encode(value: object, *, sort: bool = True) -> str:
    """Return the canonical JSON text of a plain value; raises ``NotSerializable``.

    With ``sort`` false the keys keep their order: for results, which are shown as they came.
    """
    _check(value, "$", 0)
    try:
        return json.dumps(value, sort_keys=sort, separators=(",", ":"), allow_nan=False)
    except ValueError as error:  # a whole number longer than Python will print
        raise NotSerializable(f"the value cannot be written as JSON: {error}") from None


def decode(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises ``BadInput`` for a text that is not JSON, is nested deeper than ``MAX_DEPTH`` or has
    a duplicate key. No number in the text may be NaN or infinite.
    """
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except RecursionError:
        raise BadInput(f"the JSON is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        # Only the position is told: the decoder's own text may quote the document.
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadInput(f"not readable as JSON{where}") from None
    _check(value, "$", 0)
    return value


def sha256(data: bytes) -> Sha256:
    """Return the hash that names a payload."""
    return Sha256(hashlib.sha256(data).hexdigest())


@dataclass(frozen=True, slots=True)
class InputRef:
    """One place in the arguments where an artifact stands instead of a value."""

    path: Path
    id: ArtifactId
    sha: Sha256


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments: plain values, with ``None`` where ``refs`` puts an artifact.

    The refs stand beside the values and not among them, so that no value, whatever an untrusted
    page wrote into it, can be read as a ref.
    """

    values: dict[str, Any]
    refs: tuple[InputRef, ...] = ()

    def document(self) -> str:
        """Return the canonical JSON text that is kept."""
        refs = [[list(ref.path), ref.id.hex(), ref.sha] for ref in self.refs]
        return encode({"refs": refs, "values": self.values})

    def digest(self, tool: str) -> Sha256:
        """Hash what makes two calls the same: tool, values and the content of the refs (D10)."""
        refs = [[list(ref.path), ref.sha] for ref in self.refs]
        return sha256(encode([tool, self.values, refs]).encode())

    @classmethod
    def of_document(cls, text: str | bytes) -> Arguments:
        """Read back what ``document`` wrote."""
        raw = decode(text)
        refs = tuple(
            InputRef(tuple(path), ArtifactId(bytes.fromhex(identity)), Sha256(sha))
            for path, identity, sha in raw["refs"]
        )
        return cls(raw["values"], refs)


def _check(value: object, where: str, depth: int) -> None:
    """Refuse what JSON has no one form for; ``where`` names the place, near the top only."""
    if depth > MAX_DEPTH:
        raise NotSerializable(f"the value is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotSerializable(f"{where} is not a finite number (NaN or infinity)")
    elif isinstance(value, list | tuple | dict):
        for part, item in _parts(value, where):
            _check(item, _inside(where, part, depth), depth + 1)
    elif not isinstance(value, _SIMPLE):
        raise NotSerializable(f"{where} is a {type(value).__name__}, which JSON has no form for")


def _parts(value: Any, where: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        _check_keys(value, where)
        return ((f".{key}", item) for key, item in value.items())
    return ((f"[{place}]", item) for place, item in enumerate(value))


def _inside(where: str, part: str, depth: int) -> str:
    return where + part if depth < _NAMED_DEPTH and len(part) < _NAMED_LENGTH else where


def _check_keys(value: dict[Any, Any], where: str) -> None:
    for key in value:
        if not isinstance(key, str):
            kind = type(key).__name__
            raise NotSerializable(f"{where} has a key that is not text but {kind}")


def _no_duplicates(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in pairs:
        if key in found:
            raise BadInput("the JSON has one key twice in one object")
        found[key] = item
    return found


def _no_constant(name: str) -> Any:
    raise BadInput(f"the JSON has a number that is not finite ({name})")
