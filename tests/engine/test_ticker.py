"""The threads that renew and sweep go on whatever happens in one of their rounds."""

import threading

from keptstep.models.errors import StoreBusy
from keptstep.workers.ticker import Ticker


def test_a_round_that_raises_is_followed_by_the_next() -> None:
    rounds: list[int] = []
    enough = threading.Event()
    faults: list[Exception] = [StoreBusy("held"), ValueError("ours"), KeyError("ours too")]

    def work() -> None:
        rounds.append(1)
        if len(rounds) > len(faults):
            enough.set()
        else:
            raise faults[len(rounds) - 1]

    ticker = Ticker("test", 0.001, work, at_once=True)
    ticker.start()
    assert enough.wait(20)
    ticker.stop()
    after = len(rounds)
    threading.Event().wait(0.05)
    assert len(rounds) == after, "once stopped it is over"


def test_a_last_round_follows_the_stop_where_it_is_asked_for() -> None:
    rounds: list[str] = []
    for name, at_end in (("plain", False), ("last", True)):
        ticker = Ticker(name, 3600, lambda name=name: rounds.append(name), at_end=at_end)  # type: ignore[misc]
        ticker.start()
        ticker.stop()
    assert rounds == ["last"]
