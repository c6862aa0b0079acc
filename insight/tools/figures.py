"""figures.py - the numbers behind each figure of the report; figures 2 to 6 are those of the main paper's section 2.3.

Everything works on whole columns: a bin of each event is computed, and numpy counts the bins."""

from dataclasses import dataclass

import numpy as np

from events import NOBODY, Events

PAGE_SHIFT, BINS = 12, 600
STEPS, SMALLEST, LARGEST = 4, 3, 24  # rows of a heat map for each doubling; log2 of the smallest and largest size
NEVER = np.iinfo(np.int64).max
MS = 1_000_000


@dataclass
class Objects:
    """One entry an object, in the order of birth."""

    birth: np.ndarray
    death: np.ndarray  # NEVER if it is alive at the end
    size: np.ndarray
    address: np.ndarray
    thread: np.ndarray
    freer: np.ndarray  # the thread that freed it, -1
    stack: np.ndarray

    @property
    def freed(self) -> np.ndarray:
        return self.death != NEVER

    @property
    def crossing(self) -> np.ndarray:
        return self.freed & (self.thread != self.freer)

    @property
    def lifetime(self) -> np.ndarray:
        return np.where(self.freed, self.death - self.birth, NEVER)


def objects_of(events: Events) -> Objects:
    at = np.flatnonzero(events.allocates)
    partner = events.partner[at]
    freed = partner != NOBODY
    return Objects(
        birth=events.time[at],
        death=np.where(freed, events.time[partner], NEVER),
        size=events.size[at].astype(np.int64),
        address=events.address[at].astype(np.int64),
        thread=events.thread[at],
        freer=np.where(freed, events.thread[partner], NOBODY),
        stack=events.stack[at],
    )


def bins_of(time: np.ndarray, end: int, bins: int = BINS) -> np.ndarray:
    return np.minimum(time * (bins / max(end, 1)), bins - 1).astype(np.int32)


def rows_of(size: np.ndarray) -> np.ndarray:
    """The row of a size in a heat map."""
    exponent = np.log2(np.maximum(size, 1).astype(np.float32))
    return np.clip((exponent - SMALLEST) * STEPS, 0, (LARGEST - SMALLEST) * STEPS - 1).astype(np.int32)


def highest_in_bins(time: np.ndarray, value: np.ndarray, end: int, bins: int = BINS) -> np.ndarray:
    """The highest value of each bin; a bin without an event has the value before it."""
    if not len(time):
        return np.zeros(bins, np.int64)
    edges = np.arange(bins) * (max(end, 1) / bins)
    first = np.searchsorted(time, edges)
    carried = np.where(first > 0, value[np.maximum(first - 1, 0)], 0)
    inside = np.maximum.reduceat(value, np.minimum(first, len(value) - 1))
    empty = np.append(first[1:], len(value)) <= first
    return np.where(empty, carried, np.maximum(inside, carried))


def heat_map(events: Events, end: int, chosen: np.ndarray) -> np.ndarray:
    """Figure 2, middle: those events by size and time."""
    rows = (LARGEST - SMALLEST) * STEPS
    cell = rows_of(events.size[chosen]) * BINS + bins_of(events.time[chosen], end)
    return np.bincount(cell, minlength=rows * BINS).reshape(rows, BINS)


def rates(events: Events, end: int) -> dict[str, np.ndarray]:
    """Figure 2, bottom: operations a second by time; and in the busiest millisecond."""
    allocates, bins = events.allocates, bins_of(events.time, end)
    seconds = max(end, 1) / BINS / 1e9
    ends = np.flatnonzero(np.diff(events.time // MS, append=-1)) + 1  # of milliseconds with an event
    busiest = np.diff(ends, prepend=0).max(initial=0)
    return {
        "allocations": np.bincount(bins[allocates], minlength=BINS) / seconds,
        "frees": np.bincount(bins[~allocates], minlength=BINS) / seconds,
        "busiest": np.int64(busiest * 1000),
    }


def size_distribution(objects: Objects) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Figure 3: sizes, and the share of operations and of bytes up to each."""
    sizes, counts = np.unique(objects.size, return_counts=True)
    amounts = (sizes * counts).astype(np.float64)
    return sizes, np.cumsum(counts) / max(counts.sum(), 1), np.cumsum(amounts) / max(amounts.sum(), 1)


def pages_in_part(objects: Objects) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the pages at an object's ends, which others may share: page, time, +1 or -1; by page and time."""
    first = objects.address >> PAGE_SHIFT
    last = (objects.address + np.maximum(objects.size, 1) - 1) >> PAGE_SHIFT
    second = last != first
    page = np.concatenate([first, last[second]])
    birth = np.concatenate([objects.birth, objects.birth[second]])
    death = np.concatenate([objects.death, objects.death[second]])
    died = death != NEVER
    page = np.concatenate([page, page[died]])
    time = np.concatenate([birth, death[died]])
    change = np.concatenate([np.ones(len(birth), np.int8), np.full(int(died.sum()), -1, np.int8)])
    # A free and an allocation of one moment: the free was first.
    order = np.argsort(time * 2 + (change > 0), kind="stable")
    order = order[np.argsort(page[order], kind="stable")]
    return page[order], time[order], change[order]


@dataclass
class Pages:
    """How long pages had an object in them, and how many had one."""

    lifetime: np.ndarray  # NEVER: until the end
    weight: np.ndarray  # pages of that life
    time: np.ndarray  # moments at which `used` changes
    used: np.ndarray  # pages with an object in them


def pages_of(objects: Objects) -> Pages:
    page, time, change = pages_in_part(objects)
    count = np.cumsum(change, dtype=np.int64)
    starts = np.flatnonzero(np.diff(page, prepend=-1))
    before = np.repeat(np.where(starts > 0, count[np.maximum(starts - 1, 0)], 0), np.diff(starts, append=len(page)))
    count -= before
    filled = np.flatnonzero((change > 0) & (count == 1))
    emptied = np.flatnonzero((change < 0) & (count == 0))
    # Within a page they alternate; a page that is never emptied again has one `filled` more.
    after = np.searchsorted(emptied, filled)
    inside = after < len(emptied)
    same = np.zeros(len(filled), bool)
    same[inside] = page[emptied[after[inside]]] == page[filled[inside]]
    life = np.full(len(filled), NEVER)
    life[same] = time[emptied[after[same]]] - time[filled[same]]
    # Pages between the ends are the object's alone.
    between = ((objects.address + np.maximum(objects.size, 1) - 1) >> PAGE_SHIFT) - (objects.address >> PAGE_SHIFT) - 1
    large = np.flatnonzero(between > 0)
    gone = large[objects.freed[large]]
    moments = np.concatenate([time[filled], time[emptied], objects.birth[large], objects.death[gone]])
    changes = np.concatenate(
        [np.ones(len(filled), np.int64), -np.ones(len(emptied), np.int64), between[large], -between[gone]]
    )
    order = np.argsort(moments, kind="stable")
    return Pages(
        lifetime=np.concatenate([life, objects.lifetime[large]]),
        weight=np.concatenate([np.ones(len(life), np.int64), between[large]]),
        time=moments[order],
        used=np.cumsum(changes[order]),
    )


def shares_by(lifetime: np.ndarray, weight: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Figure 5: the share of all that lived at most so long."""
    if not len(lifetime):
        return np.zeros(len(moments))
    order = np.argsort(lifetime)
    total = np.cumsum(weight[order])
    at = np.searchsorted(lifetime[order], moments, side="right")
    return np.where(at > 0, total[np.maximum(at - 1, 0)], 0) / max(int(weight.sum()), 1)


def time_of_share(lifetime: np.ndarray, weight: np.ndarray, share: float) -> int | None:
    """After which time so large a share was gone; None if it never was."""
    if not len(lifetime):
        return None
    order = np.argsort(lifetime)
    total = np.cumsum(weight[order])
    found = int(lifetime[order][np.searchsorted(total, share * total[-1])])
    return None if found == NEVER else found


def crossing_by_ms(objects: Objects) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Figure 6: milliseconds with frees, the share of these that another thread made, and how many there were."""
    freed = objects.freed
    slices = objects.death[freed] // MS
    order = np.argsort(slices, kind="stable")
    moments, first = np.unique(slices[order], return_index=True)
    counts = np.diff(first, append=len(slices))
    crossing = np.add.reduceat(objects.crossing[freed][order].astype(np.int64), first) if len(first) else counts
    return moments, crossing / np.maximum(counts, 1), counts


def used_intervals(objects: Objects) -> tuple[np.ndarray, np.ndarray]:
    """First and end page of each stretch of pages that ever had an object."""
    first = objects.address >> PAGE_SHIFT
    end = ((objects.address + np.maximum(objects.size, 1) - 1) >> PAGE_SHIFT) + 1
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(end[order])
    new = np.flatnonzero(np.append(True, first[1:] > reach[:-1]))
    return first[new], reach[np.append(new[1:], len(first)) - 1]


def address_map(objects: Objects, end: int, rows: int = 240, bins: int = 300) -> tuple[np.ndarray, int]:
    """Which part of each stretch of addresses is alive over time; addresses that were never used are left out."""
    if not len(objects.birth):
        return np.zeros((rows, bins)), 0
    starts, ends = used_intervals(objects)
    before = np.concatenate([[0], np.cumsum(ends - starts)])
    row_bytes = max(int(before[-1]) << PAGE_SHIFT, rows) / rows
    page = objects.address >> PAGE_SHIFT
    stretch = np.searchsorted(starts, page, side="right") - 1
    place = ((before[stretch] + page - starts[stretch]) << PAGE_SHIFT) + (objects.address & ((1 << PAGE_SHIFT) - 1))
    first = (place / row_bytes).astype(np.int64)
    last = np.minimum(((place + np.maximum(objects.size, 1) - 1) / row_bytes).astype(np.int64), rows - 1)
    copies = last - first + 1
    owner = np.repeat(np.arange(len(place)), copies)
    row = np.arange(len(owner)) - np.repeat(np.cumsum(copies) - copies, copies) + first[owner]
    low = np.maximum(place[owner], row * row_bytes)
    high = np.minimum(place[owner] + objects.size[owner], (row + 1) * row_bytes)
    part = np.maximum(high - low, 0)
    cells = (bins + 1) * rows
    born = np.bincount(row * (bins + 1) + bins_of(objects.birth, end, bins)[owner], part, cells)
    gone = objects.freed[owner]
    died_in = bins_of(np.where(objects.freed, objects.death, 0), end, bins)[owner[gone]] + 1
    died = np.bincount(row[gone] * (bins + 1) + died_in, part[gone], cells)
    alive = np.cumsum((born - died).reshape(rows, bins + 1), axis=1)[:, :bins]
    return np.clip(alive / row_bytes, 0, 1), int(row_bytes)


def alive_at(objects: Objects, moment: int) -> np.ndarray:
    return np.flatnonzero((objects.birth <= moment) & (objects.death > moment))


def sizes_alive(objects: Objects, moment: int, most: int = 10) -> list[dict]:
    """The sizes that hold most bytes at a moment, by quarters of a doubling."""
    at = alive_at(objects, moment)
    rows = rows_of(objects.size[at])
    amount = np.bincount(rows, objects.size[at])
    found = []
    for row in np.argsort(-amount)[:most]:
        if amount[row] > 0:
            sizes = objects.size[at][rows == row]
            low, high = int(sizes.min()), int(sizes.max())
            found.append({"from": low, "to": high, "objects": len(sizes), "bytes": int(amount[row])})
    return found


def pinning_sizes(objects: Objects, moment: int, most: int = 6) -> tuple[list[dict], dict]:
    """Sizes whose objects keep pages that are otherwise nearly empty (less than a quarter in use)."""
    at = alive_at(objects, moment)
    size, address = np.maximum(objects.size[at], 1), objects.address[at]
    small = size < 1 << PAGE_SHIFT
    page, place = np.unique(address[small] >> PAGE_SHIFT, return_inverse=True)
    used = np.bincount(place, size[small], len(page))
    sparse = used < (1 << PAGE_SHIFT) / 4
    largest = np.zeros(len(page), np.int64)
    np.maximum.at(largest, place, size[small])
    rows = rows_of(largest[sparse])
    held = np.bincount(rows)
    found = []
    for row in np.argsort(-held)[:most]:
        if held[row] > 0:
            sizes = largest[sparse][rows == row]
            found.append({"from": int(sizes.min()), "to": int(sizes.max()), "pages": int(held[row])})
    return found, {"pages": len(page), "sparse_pages": int(sparse.sum()), "small_bytes": int(used.sum())}
