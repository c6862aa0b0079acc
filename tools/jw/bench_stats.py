"""What ./jw bench says about repeated measurements: medians, spread, ratios, and when a difference counts."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

# What comes out the same in each run: one round is enough.
EXACT = (
    "instructions",
    "conditional branches",
    "of calls",
    "instructions/operation",
    "branches/operation",
    "KB of text",
)
FEWEST_ROUNDS = 3
DISSENTERS = 8  # one round in so many


@dataclass
class Result:
    """One quantity of one allocator in one case, once per round; a round that failed is None."""

    benchmark: str
    case: str
    metric: str
    unit: str
    allocator: str
    better: str = "lower"
    values: list[float | None] = field(default_factory=list)

    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]

    def median(self) -> float | None:
        return statistics.median(self.known()) if self.known() else None

    def spread(self) -> float | None:
        """Half the distance between the quartiles, of few values half their range, as a share of the median."""
        return spread_of(self.known())

    def summary(self) -> dict:
        return asdict(self) | {"median": self.median(), "spread": self.spread()}


def spread_of(values: list[float]) -> float | None:
    if len(values) < 2 or not (middle := statistics.median(values)):
        return None
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 4 else (min(values), middle, max(values))
    return (high - low) / 2 / abs(middle)


@dataclass
class Ratio:
    """Ours to another's in each round, so that above 1 is good for us."""

    rounds: list[float]
    exact: bool = False

    @property
    def middle(self) -> float:
        return statistics.median(self.rounds)

    def counts(self) -> bool:
        """Whether the difference is larger than the spread; and the rounds agree on which is ahead, most of many."""
        if self.exact:
            return self.middle != 1
        against = sum((one > 1) != (self.middle > 1) for one in self.rounds)
        enough = len(self.rounds) >= FEWEST_ROUNDS and against <= len(self.rounds) // DISSENTERS
        return enough and abs(self.middle - 1) > (spread_of(self.rounds) or 0) * self.middle

    def ahead(self) -> bool:
        return self.counts() and self.middle > 1

    def behind(self) -> bool:
        return self.counts() and self.middle < 1


def advantage(ours: Result, theirs: Result) -> Ratio | None:
    """How many times better we are: round by round, since what disturbed a round disturbed both."""
    pairs = [
        (mine, other) for mine, other in zip(ours.values, theirs.values, strict=False) if mine is not None and other
    ]
    if ours.better == "lower":
        pairs = [(other, mine) for mine, other in pairs]
    ratios = [mine / other for mine, other in pairs if other]
    return Ratio(ratios, ours.unit in EXACT) if ratios else None


def geometric_mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return math.exp(statistics.fmean(map(math.log, values))) if values and min(values) > 0 else None


def crossing(curve: list[tuple[float, float]], at: float) -> float | None:
    """The value of a sampled curve at a time: the last sample before it."""
    before = [value for time, value in curve if time <= at]
    return before[-1] if before else None


def growth(results: dict[float, Result]) -> dict[float, list[float | None]]:
    """Each round's value as a multiple of the same round's of the smallest case."""
    least = results[min(results)].values if results else []
    return {
        at: [value / first if value and first else None for value, first in zip(result.values, least, strict=False)]
        for at, result in results.items()
    }


def speed(lines: list[dict]) -> dict[str, tuple]:
    """Throughput and cost of an operation, of a driver's last line."""
    line = lines[-1]
    operations = line["operations"]
    processor = line["user"] + line["system"]
    return {
        "throughput": (operations / line["seconds"] / 1e6, "10^6/s", "higher"),
        "cpu": (processor / operations * 1e9, "ns/operation"),
        "user": (line["user"] / operations * 1e9, "ns/operation"),
        "system": (line["system"] / operations * 1e9, "ns/operation"),
        "peak": (line["peak_kb"] / 1024, "MB"),
    }
