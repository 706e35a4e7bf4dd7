"""``python -m benchmarks.run``: the main job's benchmark and its floor, side by side.

Every round runs each figure once, engine and floor in turn on the same disk; the medians and
their ratio are printed, and with ``--json`` one JSON document. Absolute figures move from machine
to machine: quote the ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import engine, floor

SIZES = {"200 B": 200, "100 KiB": 102_400}


def rounds(parent: Path, count: int, figure: Callable[[Path], float]) -> float:
    """Return the median of ``count`` runs, each in a new folder."""
    found = []
    for _ in range(count):
        place = Path(tempfile.mkdtemp(prefix="keptstep-bench-", dir=parent))
        try:
            found.append(figure(place))
        finally:
            shutil.rmtree(place)
    return statistics.median(found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path.cwd(), help="where to write: the disk")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    result: dict[str, dict[str, float]] = {}
    for label, size in SIZES.items():
        result[f"8 x 10 steps, {label}, steps/s"] = compare(
            given,
            lambda place, s=size: engine.chains(place, 8, 10, s),
            lambda place, s=size: floor.together(place, 80, s),
        )
    result["alone, 100 steps, 200 B, steps/s"] = compare(
        given,
        lambda place: engine.chains(place, 1, 100, 200),
        lambda place: floor.alone(place, 100, 200),
    )
    result["fan of 1,000 and a join, 200 B, steps/s"] = compare(
        given,
        lambda place: engine.fanned(place, 1000, 200),
        lambda place: floor.together(place, 1000, 200),
    )
    ready = rounds(given.dir, given.rounds, lambda place: engine.pickup(place, 10))
    result["ready to started, idle, ms"] = {"engine": ready}
    print(json.dumps(result) if given.json else table(result))


def compare(
    given: argparse.Namespace, ours: Callable[[Path], float], bare: Callable[[Path], float]
) -> dict[str, float]:
    """Return both medians and their ratio."""
    pairs = [(rounds(given.dir, 1, ours), rounds(given.dir, 1, bare)) for _ in range(given.rounds)]
    return {
        "engine": statistics.median(one for one, _ in pairs),
        "floor": statistics.median(two for _, two in pairs),
        "ratio": statistics.median(one / two for one, two in pairs),
    }


def table(result: dict[str, dict[str, float]]) -> str:
    """Return the figures as lines for a person."""
    lines = [f"{'':42}{'engine':>10}{'floor':>10}{'ratio':>8}"]
    for name, row in result.items():
        cells = [f"{row['engine']:>10.1f}"]
        if "floor" in row:
            cells += [f"{row['floor']:>10.1f}", f"{row['ratio']:>8.2f}"]
        lines.append(f"{name:42}{''.join(cells)}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
