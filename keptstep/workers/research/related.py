"""Words that technical texts use for one another: who asks about waiting finds the delay.

A related word counts for half, and only in place of the word it is related to. The report says
which were looked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from keptstep.workers.research.stemming import stem

_GROUPS = """
wait delay backoff sleep pause timeout interval
limit maximum max cap bound most
minimum min least
error exception failure fault
fail fault abort
exceed exhaust
delete remove drop erase discard purge unlink
start begin launch spawn boot
stop end shutdown terminate exit quit halt kill cancel interrupt
save store write persist keep
send enqueue publish post dispatch submit emit
receive consume fetch
retry backoff redeliver requeue
run execute call invoke
create make build generate construct
change modify update edit
show display print
load parse decode
encode serialize dump
find search look locate discover
choose select pick
setting option configuration config parameter
old age expire stale ttl
long duration seconds milliseconds
concurrent parallel simultaneous
crash die dead
fast quick performance speed
copy duplicate clone
return retrieve obtain
need require
allow permit enable
forbid refuse deny reject disallow disable prevent
check verify validate
folder directory
link url
""".strip().splitlines()


def _table() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for group in _GROUPS:
        words = group.split()
        for word in words:
            others = (other for other in words if stem(other) != stem(word))
            table[stem(word)] = (*table.get(stem(word), ()), *others)
    return table


_RELATED = _table()


def related(stems: Iterable[str]) -> dict[str, str]:
    """Return stem and word of what is related to these stems, without the stems themselves."""
    asked = list(stems)
    found = {stem(word): word for one in asked for word in _RELATED.get(one, ())}
    return {form: word for form, word in found.items() if form not in asked}


@cache
def stand_ins(form: str) -> frozenset[str]:
    """Return the stems that may stand for this one."""
    return frozenset(stem(word) for word in _RELATED.get(form, ()))
