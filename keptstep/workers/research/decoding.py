"""Bytes to text in any encoding, and back: which bytes of the file a character came from."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass

from charset_normalizer import from_bytes

from keptstep.workers.research.stopwords import listed

#: Byte order marks, the longer ones first: UTF-32's begins like UTF-16's.
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
#: What a legacy file may be in: the encodings that have been in wide use. The other codecs
#: (EBCDIC, UTF-7, ...) only ever come up as wrong guesses.
_LEGACY = sorted(
    listed(
        "cp949 shift_jis cp932 euc_jp gb18030 big5 cp1252 cp1250 cp1251 koi8_r cp1253 cp1254 "
        "cp1255 cp1256 tis_620"
    )
)
#: A file's own word on its encoding: XML, HTML and the coding line of a script.
_DECLARED = re.compile(
    rb"""(?:encoding\s*=\s*["']|charset\s*=\s*["']?|coding[:=]\s*)([A-Za-z0-9._-]{2,40})"""
)
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_HIGH = bytes(range(0x80, 0x100))
_SAMPLE = 1 << 16
_BLOCK = 512  #: bytes between two places whose character number is remembered


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file is decoded: the name of a codec of Python's, and its BOM's length in bytes."""

    codec: str
    bom: int = 0

    def decode(self, data: bytes) -> str:
        """Decode a piece of the file that begins and ends between characters.

        Bytes that are no text in this encoding become U+FFFD.
        """
        return _SURROGATES.sub("\ufffd", data.decode(self.codec, "replace"))

    @property
    def by_lines(self) -> bool:
        """Whether only whole lines can be decoded by themselves (ISO 2022)."""
        return self.codec.startswith("iso2022")


def detect(data: bytes) -> Encoding:
    """Say how a file is encoded: its BOM, UTF-8 if it is that, its own word, or a good guess."""
    marked = bom_of(data)
    if marked is not None:
        return marked
    wide = wide_codec(data[:_SAMPLE])
    if wide is not None:
        return Encoding(wide)
    if any(mark in data for mark in _ISO_2022_JP) and _fits("iso2022_jp_2", data):
        return Encoding("iso2022_jp_2")
    if _mostly_utf8(data):
        return Encoding("utf-8")
    return Encoding(_declared(data) or _guessed(data))


class Decoded:
    """A file's text that knows where in the file its characters stand."""

    def __init__(self, data: bytes, encoding: Encoding) -> None:
        """Decode once, noting every few hundred bytes which character begins there."""
        self.data = data
        self.encoding = encoding
        self._marks = [(0, encoding.bom)]  # (character, byte), rising
        decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
        parts: list[str] = []
        self._plain = encoding.codec == "utf-8" and data.isascii()
        step = max(len(data), 1) if self._plain else _BLOCK
        characters = 0
        for place in range(encoding.bom, len(data), step):
            block = data[place : place + step]
            parts.append(decoder.decode(block))
            characters += len(parts[-1])
            pending, state = decoder.getstate()
            if parts[-1] and not state:
                self._marks.append((characters, place + len(block) - len(pending)))
        parts.append(decoder.decode(b"", final=True))
        self.text = _SURROGATES.sub("\ufffd", "".join(parts))

    def byte_at(self, character: int) -> int:
        """Return the offset in the file at which character ``character`` (from 0) begins.

        The number of characters gives the number of bytes.
        """
        if character >= len(self.text):
            return len(self.data)
        if self._plain:
            return character
        known, byte = self._marks[bisect_right(self._marks, (character, len(self.data))) - 1]
        between = self.text[known:character]
        if self.encoding.codec == "utf-8" and "\ufffd" not in between:
            return byte + len(between.encode())
        return byte + self._walk(byte, len(between))

    def piece(self, start: int, end: int) -> str:
        """Decode the bytes from ``start`` to before ``end`` by themselves."""
        return self.encoding.decode(self.data[start:end])

    def _walk(self, byte: int, characters: int) -> int:
        """Count the bytes that the next ``characters`` characters take."""
        decoder = codecs.getincrementaldecoder(self.encoding.codec)("replace")
        seen = place = begun = 0
        while seen < characters and byte + place < len(self.data):
            text = decoder.decode(self.data[byte + place : byte + place + 1])
            place += 1
            if seen + len(text) > characters:
                piece = self.data[byte + begun : byte + place]
                return begun + self._within(piece, characters - seen)
            seen += len(text)
            begun = place - len(decoder.getstate()[0])
        return begun

    def _within(self, piece: bytes, characters: int) -> int:
        """Return where a character begins in a few bytes that became several at once.

        So it is with bytes that turn out not to belong together when the next one comes. The
        place is right if both sides, decoded by themselves, are the whole.
        """
        whole = self.encoding.decode(piece)
        sides = (
            (size, self.encoding.decode(piece[:size]), self.encoding.decode(piece[size:]))
            for size in range(len(piece))
        )
        fits = (size for size, left, right in sides if left + right == whole)
        return max(size for size in fits if len(self.encoding.decode(piece[:size])) <= characters)


def bom_of(data: bytes) -> Encoding | None:
    """Return the encoding a byte order mark names, if there is one."""
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return Encoding(codec, len(bom))
    return None


def wide_codec(sample: bytes) -> str | None:
    """Recognise UTF-16 and UTF-32 without a BOM: read so, everything in it is printable.

    ASCII with a stray zero byte reads as printable Chinese too, but has neither many zero bytes
    nor bytes beyond ASCII.
    """
    high = len(sample) - len(sample.translate(None, _HIGH))
    if sample.count(0) <= len(sample) * 0.2 and (0 not in sample or high <= len(sample) * 0.1):
        return None
    for codec in _WIDE:
        try:
            text = codecs.getincrementaldecoder(codec)().decode(sample)
        except UnicodeDecodeError:
            continue
        if all(character.isprintable() or character in "\t\r\n\f" for character in text):
            return codec
    return None


def _mostly_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8, or so nearly that the rest is damage."""
    if _fits("utf-8", data):
        return True
    text = data.decode("utf-8", "surrogateescape")
    broken = len(text) - len(_SURROGATES.sub("", text))
    beyond = len(text) - len(_BEYOND_ASCII.sub("", text))
    return beyond - broken > broken


def _declared(data: bytes) -> str | None:
    match = _DECLARED.search(data[:2048])
    if match is None:
        return None
    try:
        codec = codecs.lookup(match.group(1).decode("ascii")).name
    except LookupError:
        return None
    # "euc-kr" and "iso-8859-1" are read as browsers do: as the larger set that is meant.
    codec = {"euc_kr": "cp949", "iso8859-1": "cp1252", "gb2312": "gb18030"}.get(codec, codec)
    known = codec in _LEGACY or codec.startswith(("iso8859", "cp125", "koi8", "mac-", "gbk"))
    return codec if known and _fits(codec, data) else None


def _fits(codec: str, data: bytes) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _guessed(data: bytes) -> str:
    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # cut between lines, not inside a character
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    best = from_bytes(sample, cp_isolation=_LEGACY).best()
    return best.encoding if best is not None else "cp1252"
