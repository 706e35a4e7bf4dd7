"""English stems, by Porter's algorithm (An algorithm for suffix stripping, 1980)."""

from __future__ import annotations

import re
from functools import lru_cache

_SHORTEST = 3  #: letters of a word that has an ending to take off


def _table(text: str) -> list[tuple[str, str]]:
    """Read ``ending>instead`` rules; the first that fits decides, so longer ones stand first."""
    return [(rule.partition(">")[0], rule.partition(">")[2]) for rule in text.split()]


_STEP_2 = _table(
    "ational>ate ization>ize iveness>ive fulness>ful ousness>ous tional>tion biliti>ble "
    "entli>ent ousli>ous ation>ate alism>al aliti>al iviti>ive enci>ence anci>ance izer>ize "
    "abli>able alli>al ator>ate eli>e logi>log"
)
_STEP_3 = _table("icate>ic ative> alize>al iciti>ic ical>ic ness> ful>")
_STEP_4 = _table(
    "ement> ance> ence> able> ible> ment> ant> ent> sion>s tion>t ism> ate> iti> ous> ive> ize> "
    "al> er> ic> ou>"
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return what the forms of an English word have in common: retries, retried: retri.

    Words of other alphabets, short words and numbers are left as they are.
    """
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha():
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for rules, least in ((_STEP_2, 1), (_STEP_3, 1), (_STEP_4, 2)):
        word = _replaced(word, rules, least)
    return _tidied(word)


def measure(word: str) -> int:
    """Count the changes from vowels to consonants: how many syllables close."""
    shape = "".join("v" if _is_vowel(word, place) else "c" for place in range(len(word)))
    return len(re.findall("v+c+", shape))


def _is_vowel(word: str, place: int) -> bool:
    letter = word[place]
    return letter in "aeiou" or (letter == "y" and place > 0 and not _is_vowel(word, place - 1))


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, place) for place in range(len(word)))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and _has_vowel(base):
            return _mended(base)
    return word


def _mended(base: str) -> str:
    """Put right what taking off -ed or -ing left: creat(ed), hopp(ing), fil(ing)."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _doubled(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if measure(base) == 1 and _short(base) else base


def _replaced(word: str, rules: list[tuple[str, str]], least: int) -> str:
    for ending, instead in rules:
        if word.endswith(ending):
            base = word[: len(word) - len(ending)]
            kept = base + instead if least > 1 else base  # -ion counts the s or t before it
            return base + instead if measure(kept) >= least else word
    return word


def _tidied(word: str) -> str:
    base = word[:-1]
    if word.endswith("e") and (measure(base) > 1 or (measure(base) == 1 and not _short(base))):
        word = base
    return word[:-1] if word.endswith("ll") and measure(word[:-1]) > 1 else word


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and not _is_vowel(word, len(word) - 1)


def _short(word: str) -> bool:
    """Whether a word ends consonant, vowel, consonant, the last not w, x or y."""
    if len(word) < _SHORTEST or word[-1] in "wxy":
        return False
    kinds = [_is_vowel(word, len(word) - place) for place in (3, 2, 1)]
    return kinds == [False, True, False]
