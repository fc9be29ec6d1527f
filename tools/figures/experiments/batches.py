"""Figure 9: documents a second in batches, against the size of the batch and of the stored file.

The stored fingerprints lie in a file of sorted chunks.  PSM finds the flip sets of the batch once.
It reads chunks of the batch's size, makes the headers of each and looks the batch up in it.  For
the first match, it drops answered queries and stops reading when none is left.  BPHS makes four
tables of the batch and looks every stored fingerprint up in them.  All times are processor time of
the paper's programs, with sorting and making tables, without the disk.

Each chunk is a random part of the file, so a file of fewer chunks is the beginning of this one.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import generated
import pictures
from arena import arena
from claim import Claim, Section
from paper import Batch, Bphs, Psm, by_blocks
from scene import World

U64 = npt.NDArray[np.uint64]
SATURATES = Claim(
    "Sood & Loguinov, Figure 9(a)",
    "With larger batches BPHS saturates; PSM grows slightly more slowly than m.",
    "From the least batch to the largest, the rate of PSM for all matches grows by an exponent of m"
    " of .5 to 1; over the last factor of 4, that of BPHS by one of .3 or less.",
)
AHEAD = Claim(
    "Sood & Loguinov, Figure 9(a)",
    "At the largest batch PSM is 7.7 times faster than BPHS (first match: 14).",
    "It is 7.7 times faster or more for all matches, and 14 times or more for the first.",
)
INVERSE = Claim(
    "Sood & Loguinov, Figure 9(b)",
    "For a fixed batch both rates fall like 1 / n, with a constant ratio.",
    "From the least n to the largest, the exponents of all three curves are -1.15 to -.85, and each"
    " ratio changes by less than a factor of 1.3.",
)
SLOWER = Claim(
    "Sood & Loguinov, text on Figure 9",
    "Even the largest batches are 50 to 70 % slower than single queries.",
    "At the largest batch each of the three rates is 50 to 70 % below that of Table 2.",
)
ONLINE = {"PSM, all": ("PSM, t = d", False), "PSM, first": ("PSM, t = d", True),
          "BPHS": ("BPHS, 4 tables", False)}  # fmt: skip
BPHS_SAMPLE = 1 << 20  # stored fingerprints looked up in the tables of the batch, then scaled
SMALLER = (16, 4, 2, 1)  # the largest batch divided by each batch


@dataclass(frozen=True, slots=True)
class Passed:
    """A batch that passed along a file: seconds of preparing, of each chunk, and of sorting.

    `attempts`: flip sets of a query.  `looked_up`: queries looked up in each chunk.  `recall`: the
    share of the planted matches that was found, or with `first` of the queries that have matches.
    """

    preparing: float
    chunks: list[float]
    sorting: float
    attempts: int
    looked_up: list[int]
    recall: float

    def seconds(self, chunks: int) -> float:
        """Return the time of a file of a number of chunks."""
        return self.preparing + sum(self.chunks[:chunks]) + self.sorting


@dataclass(frozen=True, slots=True)
class LookedUp:
    """BPHS on a batch: seconds of making its tables, and of one stored fingerprint."""

    building: float
    single: float


def run(world: World) -> Section:
    """Measure batches of several sizes against one file."""
    most = world.sizes.batch
    file, batch = file_of(world)
    sample = file[:BPHS_SAMPLE].copy()
    measured: dict[int, tuple[Passed, Passed, LookedUp]] = {}
    for size in (most // each for each in SMALLER):
        # Chunks are sorted in place: sorted smaller ones are still random parts of the file.
        for at in range(0, len(file), size):
            file[at : at + size].sort()
        asked = batch.taken(slice(size))
        every, first = (passed(world, file, asked, first=each) for each in (False, True))
        measured[size] = every, first, looked_up(asked.bits, sample, blocks=4, leading=1)
    searching = looked_up(batch.bits[:most], sample, blocks=5, leading=2)
    answered = passed(world, file, batch.taken(batch.matches > 0), first=True, chunk=most)
    by_batch = {size: rates(size, len(file) / size, each) for size, each in measured.items()}
    whole = len(file) // most
    files = sorted({max(whole // 3, 1), max(2 * whole // 3, 1), whole})
    by_file = {each * most: rates(most, each, measured[most]) for each in files}
    section = Section(
        "Figure 9: batches",
        f"Generated fingerprints; (a) a file of {len(file):,} and batches of {min(measured):,} to"
        f" {most:,}, (b) a batch of {most:,} and files of {min(by_file):,} to {max(by_file):,}."
        " Half of a batch has near-duplicates in the file.",
    )
    judge_sizes(section, by_batch, measured[most], measured[min(measured)][0], searching, answered)
    judge_files(section, by_file)
    online = world.section("tables").facts[world.sizes.fingerprints]
    judge_online(section, by_batch[most], online, measured[most])
    section.facts = {"file": len(file), "by batch": by_batch}
    section.table(*rates_table(by_batch, by_file, len(file)))
    section.table(*costs_table(measured, searching), is_detail=True)
    section.pictures.append((draw(world, by_batch, by_file), "Rates of batches"))
    return section


def file_of(world: World) -> tuple[U64, generated.Queries]:
    """Return the file in random order, a whole number of largest batches, and one of these."""
    sizes = world.sizes
    count = max(sizes.fingerprints // sizes.batch, 1) * sizes.batch
    bits, batch = generated.world_of(
        world.model, count, sizes.batch, seed=world.seed + 1, keeps_weights=False
    )
    world.generator("batches").shuffle(bits)
    return bits, batch


def passed(
    world: World, file: U64, batch: generated.Queries, *, first: bool, chunk: int | None = None
) -> Passed:
    """Let a batch pass along sorted chunks, of its own size unless `chunk` says another one."""
    place = arena(world, world.sizes.fingerprints)
    size = chunk or len(batch)
    width = size.bit_length() - 1
    attempts = place.attempts(place.psm(width), first=first)
    started = time.process_time()
    asked = Batch(place.asked(batch), header_bits=width, attempts=attempts, first=first)
    times, counts = [time.process_time() - started], []
    for at in range(0, len(file), size):
        started = time.process_time()
        counts.append(asked.left)
        if asked.left:
            asked.look_up(Psm(file[at : at + size], header_bits=width))
        times.append(time.process_time() - started)
    started = time.process_time()
    np.sort(batch.bits)
    sorting = time.process_time() - started
    found = asked.found.sum(dtype=np.int64), np.count_nonzero(asked.found)
    planted = batch.matches.sum(), np.count_nonzero(batch.matches)
    recall = float(found[first] / max(planted[first], 1))
    return Passed(times[0], times[1:], sorting, attempts, counts, recall)


def looked_up(batch: U64, sample: U64, *, blocks: int, leading: int) -> LookedUp:
    """Make tables of the batch and look stored fingerprints up in them."""
    started = time.process_time()
    copies = Bphs(batch, by_blocks(blocks, leading))
    building = time.process_time() - started
    return LookedUp(building, copies.search(sample).seconds)


def rates(size: int, chunks: float, measured: tuple[Passed, Passed, LookedUp]) -> dict[str, float]:
    """Return documents a second for a file of a number of chunks."""
    every, first, bphs = measured
    whole = math.ceil(chunks)
    return {
        "PSM, all": size / every.seconds(whole), "PSM, first": size / first.seconds(whole),
        "BPHS": size / (bphs.building + bphs.single * chunks * size),
    }  # fmt: skip


def judge_sizes(
    section: Section,
    by_batch: dict[int, dict[str, float]],
    largest: tuple[Passed, Passed, LookedUp],
    least: Passed,
    searching: LookedUp,
    answered: Passed,
) -> None:
    """Judge Figure 9(a)."""
    sizes = list(by_batch)
    every, first, tables_of_4 = largest
    top, scanned = by_batch[sizes[-1]], sizes[-1] / 65536
    psm = exponent(by_batch, "PSM, all")
    bphs = exponent({size: by_batch[size] for size in sizes[-3:]}, "BPHS")
    section.judge(
        SATURATES, theirs="BPHS constant, PSM m / log^h m",
        ours=f"PSM m^{psm:.3f}, BPHS m^{bphs:.3f} at the end",
        holds=[0.5 <= psm <= 1, bphs <= 0.3],
        why="BPHS saturates once a look-up is mostly a scan; look-ups of PSM take longer where"
        f" chunks exceed the caches: {look_up_ns(least):.1f} to {look_up_ns(every):.1f} ns",
    )  # fmt: skip
    matched = answered.looked_up[0] / answered.seconds(len(answered.chunks)) / top["BPHS"]
    section.judge(
        AHEAD, theirs="x 7.7, x 14",
        ours=f"x {top['PSM, all'] / top['BPHS']:.2g}, x {top['PSM, first'] / top['BPHS']:.2g}"
        f" at m = {sizes[-1]:,}",
        holds=[top["PSM, all"] >= 7.7 * top["BPHS"], top["PSM, first"] >= 14 * top["BPHS"]],
        why=f"a look-up of BPHS takes {tables_of_4.single * 1e9 / 4:,.0f} ns, with a scan of"
        f" {scanned:,.0f} fingerprints, one in one of 10 tables"
        f" {searching.single * 1e9 / 10:,.0f} ns, one of PSM {look_up_ns(every):,.0f} ns. In the"
        f" last chunk {first.looked_up[-1] / sizes[-1]:.0%} still wait for a first match; among"
        f" those that have one PSM is x {matched:.2g}",
    )  # fmt: skip


def judge_files(section: Section, by_file: dict[int, dict[str, float]]) -> None:
    """Judge Figure 9(b)."""
    falls = {name: exponent(by_file, name) for name in ONLINE}
    ratios = {
        name: [row[name] / row["BPHS"] for row in by_file.values()]
        for name in ("PSM, all", "PSM, first")
    }
    section.judge(
        INVERSE, theirs="1 / n, ratios 7 and 14", ours=", ".join(
            f"{name} n^{value:.2f}" for name, value in falls.items()
        ) + ", ratios " + " and ".join(
            f"{min(ratio):.2g} to {max(ratio):.2g}" for ratio in ratios.values()
        ),
        holds=[
            all(-1.15 <= value <= -0.85 for value in falls.values()),
            *(max(ratio) < 1.3 * min(ratio) for ratio in ratios.values()),
        ],
        why="flip sets are found once, whatever the length of the file, and documents with a match"
        " leave",
    )  # fmt: skip


def judge_online(
    section: Section, top: dict[str, float], online: dict[str, float],
    largest: tuple[Passed, Passed, LookedUp],
) -> None:  # fmt: skip
    """Judge the text on batches against single queries."""
    slower = {name: 1 - top[name] / online[single] for name, single in ONLINE.items()}
    section.judge(
        SLOWER, theirs="50 to 70 %",
        ours=", ".join(f"{name}: {each:.0%}" for name, each in slower.items()),
        holds=[0.5 <= each <= 0.7 for each in slower.values()],
        why="the whole file passes by: PSM looks each document up in"
        f" {len(largest[0].chunks)} chunks, BPHS each stored fingerprint in the batch; what PSM"
        " saves is that flip sets are found once",
    )  # fmt: skip


def look_up_ns(every: Passed) -> float:
    """Return the nanoseconds of one look-up of PSM, with its share of making headers."""
    return sum(every.chunks) * 1e9 / max(sum(every.looked_up), 1) / (every.attempts + 1)


def rates_table(
    by_batch: dict[int, dict[str, float]], by_file: dict[int, dict[str, float]], file: int
) -> tuple[list[str], list[list[str]]]:
    """Return the rates."""
    rows = [(m, file, row) for m, row in by_batch.items()]
    rows += [(max(by_batch), n, row) for n, row in by_file.items() if n != file]
    return (
        ["m", "n", *(f"{name}, thousand/s" for name in ONLINE)],
        [
            [f"{m:,}", f"{n:,}", *(f"{row[name] / 1e3:,.4g}" for name in ONLINE)]
            for m, n, row in rows
        ],
    )


def costs_table(
    measured: dict[int, tuple[Passed, Passed, LookedUp]], searching: LookedUp
) -> tuple[list[str], list[list[str]]]:
    """Return the costs of the steps, in nanoseconds."""
    most = max(measured)
    return (
        ["m", "k, all, first", "recall, all, first", "flip sets of a document", "look-up of PSM",
         "look-up of BPHS", "look-up in one of 10 tables"],
        [
            [f"{m:,}", f"{every.attempts}, {first.attempts}",
             f"{every.recall:.1%}, {first.recall:.1%}", f"{every.preparing / m * 1e9:,.0f} ns",
             f"{look_up_ns(every):,.1f} ns", f"{bphs.single / 4 * 1e9:,.0f} ns",
             f"{searching.single / 10 * 1e9:,.0f} ns" if m == most else ""]
            for m, (every, first, bphs) in measured.items()
        ],
    )  # fmt: skip


def exponent(rows: dict[int, dict[str, float]], name: str) -> float:
    """Return the exponent with which a rate grows."""
    if len(rows) < 2:
        return 0.0
    logs = np.log2(list(rows)), np.log2([row[name] for row in rows.values()])
    return float(np.polyfit(*logs, 1)[0])


def draw(
    world: World, by_batch: dict[int, dict[str, float]], by_file: dict[int, dict[str, float]]
) -> str:
    """Draw both panels on logarithmic scales."""
    figure, panels = pictures.begun("(a) against the batch", "(b) against the file")
    colours = {"PSM, all": pictures.OURS, "PSM, first": pictures.OTHER, "BPHS": pictures.THEIRS}
    for axes, rows in zip(panels, (by_batch, by_file), strict=True):
        for name, colour in colours.items():
            axes.plot(list(rows), [row[name] for row in rows.values()], "o-", color=colour,
                      label=name)  # fmt: skip
    pictures.label(panels[0], "m, documents of a batch", "documents a second", logs="xy")
    pictures.label(panels[1], "n, stored documents", "documents a second", logs="xy")
    return pictures.write(figure, world.folder, "figure-9", panels)
