"""What ./jw bench says about repeated measurements: medians, spread, ratios, and when a difference counts."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field


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
        values, middle = self.known(), self.median()
        if len(values) < 2 or not middle:
            return None
        low, _, high = statistics.quantiles(values, n=4) if len(values) > 4 else (min(values), middle, max(values))
        return (high - low) / 2 / abs(middle)

    def summary(self) -> dict:
        return asdict(self) | {"median": self.median(), "spread": self.spread()}


@dataclass
class Ratio:
    """Ours to another's, so that above 1 is good for us; low and high are those of the rounds."""

    middle: float
    low: float
    high: float

    def counts(self) -> bool:
        """Only when all rounds agree on who is ahead is the difference larger than the spread."""
        return self.low > 1 or self.high < 1


def advantage(ours: Result, theirs: Result) -> Ratio | None:
    """How many times better we are: round by round, since what disturbed a round disturbed both."""
    pairs = [
        (mine, other) for mine, other in zip(ours.values, theirs.values, strict=False) if mine is not None and other
    ]
    if ours.better == "lower":
        pairs = [(other, mine) for mine, other in pairs]
    ratios = [mine / other for mine, other in pairs if other]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def geometric_mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return math.exp(statistics.fmean(map(math.log, values))) if values and min(values) > 0 else None


def crossing(curve: list[tuple[float, float]], at: float) -> float | None:
    """The value of a sampled curve at a time: the last sample before it."""
    before = [value for time, value in curve if time <= at]
    return before[-1] if before else None
