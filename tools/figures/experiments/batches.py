"""Figure 9: documents a second in batches, against the size of the batch and of the stored file.

The stored fingerprints lie in a file of sorted chunks.  PSM reads chunks of the batch's size, makes
the headers of each and looks the batch up in it; for the first match it drops answered queries.
BPHS makes four tables of the batch and looks every stored fingerprint up in them.  All times are
processor time of the paper's programs, with sorting and making tables, without the disk.
"""

import time

import numpy as np
import numpy.typing as npt

import generated
import pictures
from arena import Arena, arena
from claim import Claim, Section
from experiments import tables
from paper import Bphs, Psm, by_blocks
from scene import World

U64 = npt.NDArray[np.uint64]
SATURATES = Claim(
    "Sood & Loguinov, Figure 9(a)",
    "With larger batches, the rate of BPHS saturates, and that of PSM grows slightly more slowly"
    " than m.",
    "From the least batch to the largest, the rate of PSM for all matches grows by an exponent of m"
    " of .5 to 1; over the last factor of 4, that of BPHS by one of .5 or less.",
)
AHEAD = Claim(
    "Sood & Loguinov, Figure 9(a)",
    "At the largest batch PSM is 7 (all matches) to 14 times (first match) faster than BPHS.",
    "It is 3.5 times faster or more for all matches, and the first match is faster still.",
)
INVERSE = Claim(
    "Sood & Loguinov, Figure 9(b)",
    "For a fixed batch, the rates of both methods fall like 1 / n, with a constant ratio.",
    "From the least n to the largest, both exponents are -1.25 to -.75, and the ratio changes by"
    " less than a factor of 1.6.",
)
SLOWER = Claim(
    "Sood & Loguinov, text on Figure 9",
    "Even at the largest batch, both methods are 50 to 70 % slower than in online mode.",
    "At the largest batch each rate is below that of Table 2.",
)
ONLINE = {"PSM, all": "PSM, t = d, False", "PSM, first": "PSM, t = d, True",
          "BPHS": "BPHS, 4 tables, False"}  # fmt: skip
BPHS_SAMPLE = 1 << 15  # stored fingerprints looked up in the tables of the batch, then scaled


def run(world: World) -> Section:
    """Measure rates over batch sizes, then over sizes of the file."""
    largest = world.sizes.fingerprints.bit_length() - 1
    most = world.sizes.batch.bit_length() - 1
    batches = [most - 6, most - 4, most - 2, most]
    file = min(largest, most + 4)
    by_batch = {m: rates(world, arena(world, file), 1 << m) for m in batches}
    files = [most + 2, most + 3, most + 4]
    files = [each for each in files if each <= file]
    by_file = {d: rates(world, arena(world, d), 1 << most) for d in files if d != file}
    by_file[file] = by_batch[most]
    section = Section(
        "Figure 9: batches",
        f"Generated fingerprints; (a) a file of 2^{file} and batches of 2^{batches[0]} to"
        f" 2^{most}, (b) a batch of 2^{most} and files of 2^{files[0]} to 2^{files[-1]}.",
    )
    psm = exponent(batches, [by_batch[m]["PSM, all"] for m in batches])
    bphs = exponent(batches[-2:], [by_batch[m]["BPHS"] for m in batches[-2:]])
    section.judge(
        SATURATES, theirs="BPHS constant, PSM m / log^h m",
        ours=f"PSM m^{psm:.2f}, BPHS m^{bphs:.2f} at the end",
        holds=[0.5 <= psm <= 1, bphs <= 0.5],
        why="BPHS saturates once scanning m / 2^16 fingerprints is most of a look-up",
    )  # fmt: skip
    top = by_batch[most]
    section.judge(
        AHEAD, theirs="x 7.7, x 14",
        ours=f"x {top['PSM, all'] / top['BPHS']:.2g}, x {top['PSM, first'] / top['BPHS']:.2g}"
        f" at m = 2^{most}",
        holds=[top["PSM, all"] >= 3.5 * top["BPHS"], top["PSM, first"] > top["PSM, all"]],
        why="with m = 10M a look-up of BPHS scans 152 fingerprints in each table, with"
        f" {1 << most:,} it scans {(1 << most) / 65536:.0f}",
    )  # fmt: skip
    falls = {
        name: exponent(files, [by_file[d][name] for d in files]) for name in ("PSM, all", "BPHS")
    }
    ratio = [by_file[d]["PSM, all"] / by_file[d]["BPHS"] for d in files]
    section.judge(
        INVERSE, theirs="1 / n, ratio 7", ours=", ".join(
            f"{name.split(',')[0]} n^{value:.2f}" for name, value in falls.items()
        ) + f", ratio {min(ratio):.2f} to {max(ratio):.2f}",
        holds=[all(-1.25 <= value <= -0.75 for value in falls.values()),
               max(ratio) < 1.6 * min(ratio)],
        why="the whole file passes by once for each batch",
    )  # fmt: skip
    online = (world.facts.get("tables") or tables.run(world).facts)["rates"]
    slower = {name: 1 - top[name] / online[single] for name, single in ONLINE.items()}
    section.judge(
        SLOWER, theirs="50 to 70 %",
        ours=", ".join(f"{name}: {each:.0%}" for name, each in slower.items()),
        holds=[each > 0 for each in slower.values()],
        why="the whole file passes by: PSM looks each document up in n / m chunks, BPHS each stored"
        f" fingerprint in the batch; here n / m is {1 << (file - most)}, in the paper 6",
    )  # fmt: skip
    section.facts = {"file": file, "by batch": {str(m): r for m, r in by_batch.items()},
                     "by file": {str(d): r for d, r in by_file.items()}}  # fmt: skip
    section.pictures.append((draw(world, by_batch, by_file), "Rates of batches"))
    return section


def rates(world: World, place: Arena, size: int) -> dict[str, float]:
    """Return documents a second of one batch against a file, by each method."""
    bits, batch = generated.world_of(world.model, len(place.bits), size, seed=world.seed + 1)
    shuffled = world.generator("batches").permutation(bits)
    chunks = [np.sort(shuffled[at : at + size]) for at in range(0, len(shuffled), size)]
    width = size.bit_length() - 1
    found = {}
    for first in (False, True):
        # k for headers as wide as those of a chunk.
        attempts = place.attempts(place.psm(width), first=first)
        found[f"PSM, {'first' if first else 'all'}"] = size / psm_seconds(
            chunks, batch, place, attempts, first
        )
    started = time.process_time()
    copies = Bphs(batch.bits, by_blocks(4, 1))
    building = time.process_time() - started
    asked = np.ascontiguousarray(shuffled[:BPHS_SAMPLE])
    found["BPHS"] = size / (building + copies.search(asked).seconds * len(shuffled))
    return found


def psm_seconds(
    chunks: list[U64], batch: generated.Queries, place: Arena, attempts: int, first: bool
) -> float:
    """Return the processor time of a batch: headers, look-ups in all chunks, and the final sort."""
    bits, levels = batch.bits, batch.levels
    width = len(chunks[0]).bit_length() - 1
    started = time.process_time()
    for chunk in chunks:
        psm = Psm(chunk, header_bits=width, is_sorted=True)
        found = psm.search(bits, levels, place.prices, attempts=attempts, first=first).found
        if first:
            left = found == 0
            bits, levels = np.ascontiguousarray(bits[left]), np.ascontiguousarray(levels[left])
    np.sort(batch.bits)
    return time.process_time() - started


def exponent(depths: list[int], rates: list[float]) -> float:
    """Return the exponent with which a rate grows."""
    return float(np.polyfit(depths, np.log2(rates), 1)[0]) if len(depths) > 1 else 0.0


def draw(
    world: World, by_batch: dict[int, dict[str, float]], by_file: dict[int, dict[str, float]]
) -> str:
    """Draw both panels on logarithmic scales."""
    figure, panels = pictures.begun("(a) against the batch", "(b) against the file")
    colours = {"PSM, all": pictures.OURS, "PSM, first": pictures.OTHER, "BPHS": pictures.THEIRS}
    for axes, rows in zip(panels, (by_batch, by_file), strict=True):
        for name, colour in colours.items():
            axes.plot([2.0**d for d in rows], [row[name] for row in rows.values()], "o-",
                      color=colour, label=name)  # fmt: skip
    pictures.label(panels[0], "m, documents of a batch", "documents a second", logs="xy")
    pictures.label(panels[1], "n, stored documents", "documents a second", logs="xy")
    return pictures.write(figure, world.folder, "figure-9", panels)
