"""Latency histograms of mstress: what latency.h prints, merged into an HdrHistogram."""

from hdrh.histogram import HdrHistogram

from bench_peers import Allocator
from bench_run import OUTPUT, finish, start

HIGHEST = 60 * 10**9  # nanoseconds
DIGITS = 3
PERCENTILES = {"P50": 50.0, "P90": 90.0, "P99": 99.0, "P99.9": 99.9, "P99.99": 99.99, "max": 100.0}
OWN = {"own P99.9": 99.9, "own P99.99": 99.99}
KINDS = ("malloc", "free")
OFF = {kind: f"off-{kind}" for kind in KINDS}  # calls in the middle of which the thread was put off the processor


def histograms(printed: str) -> dict[str, HdrHistogram]:
    """One of each kind, in nanoseconds; the median cost of timing nothing is taken off."""
    counts: dict[str, dict[int, int]] = {name: {} for name in ("empty", *KINDS, *OFF.values())}
    rate, lost = 1.0, 0
    for line in printed.splitlines():
        if line.startswith("{"):
            continue
        kind, ticks, *count = line.split()
        if kind == "rate":
            rate = float(ticks)
        elif kind == "lost":
            lost += int(ticks)
        else:
            counts[kind][int(ticks)] = counts[kind].get(int(ticks), 0) + int(count[0])
    if lost:
        raise RuntimeError(f"{lost} calls took so long that there was no room to write them down")
    cost = middle(counts["empty"])
    result = {}
    for kind in (*KINDS, *OFF.values()):
        histogram = result[kind] = HdrHistogram(1, HIGHEST, DIGITS)
        for ticks, count in counts[kind].items():
            histogram.record_value(max(1, round((ticks - cost) / rate)), count)
    return result


def middle(counts: dict[int, int]) -> int:
    left = sum(counts.values()) / 2
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    return 0


def measure(allocator: Allocator, merged: dict[str, HdrHistogram], *options: str) -> dict[str, tuple]:
    """One round: its percentiles, over malloc and free; and adds to the merged histograms of the allocator."""
    found = histograms(finish(start(allocator, [OUTPUT / "mstress-latency", *options])))
    both, own = HdrHistogram(1, HIGHEST, DIGITS), HdrHistogram(1, HIGHEST, DIGITS)
    for kind in KINDS:
        own.add(found[kind])
        found[kind].add(found[OFF[kind]])
        both.add(found[kind])
        merged.setdefault(kind, HdrHistogram(1, HIGHEST, DIGITS)).add(found[kind])
    result = {name: (both.get_value_at_percentile(share), "ns") for name, share in PERCENTILES.items()}
    result |= {name: (own.get_value_at_percentile(share), "ns") for name, share in OWN.items()}
    put_off = both.get_total_count() - own.get_total_count()
    result["put off"] = (put_off / both.get_total_count() * 1e6, "10^-6 of calls")
    for kind in KINDS:
        histogram = found[kind]
        result[f"{kind} P99.99"] = (histogram.get_value_at_percentile(99.99), "ns")
    return result


def curve(merged: dict[str, HdrHistogram]) -> dict[str, object]:
    """Share of calls that took longer, and how long that is, for a plot whose left end is the median; and the
    histograms themselves, encoded as HdrHistogram does, for others to merge.
    """
    both = HdrHistogram(1, HIGHEST, DIGITS)
    for histogram in merged.values():
        both.add(histogram)
    shares = [1 / 2**step for step in range(1, 24) if 2**step <= both.get_total_count()]
    encoded = {kind: histogram.encode().decode() for kind, histogram in merged.items()}
    return {
        "x": shares,
        "y": [both.get_value_at_percentile(100 * (1 - share)) for share in shares],
        "histograms": encoded,
    }
