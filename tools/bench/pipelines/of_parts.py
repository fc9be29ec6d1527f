"""Drops parts that occurred before from JSON lines, and prints what that has cost.

python of_parts.py JOB UNIT FILE OUTPUT: JOB is "simdb", or "set": a set of Python of the digests of
the words of each part.  python of_parts.py keys JOB N: only the keys, N numbers below N.
"""

import json
import os
import re
import sys
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np

from simdb.cli.app import app
from simdb.deduplication.parts.seen import SeenKeys

ENDS = {
    "line": re.compile(r"(\n)"),
    "paragraph": re.compile(r"(\n(?:\s*\n)+)"),
    "sentence": re.compile(r"((?<=[.!?])\s+|\s*\n\s*)"),
}
WORDS = re.compile(r"\w+")
MIN_WORDS = 5
BATCH_KEYS = 50_000


def main() -> None:
    job, what, *places = sys.argv[1:]
    used, started = os.times(), time.perf_counter()
    if job == "keys":
        cost = keys(what, int(places[0]))
    else:
        before = peak_bytes()
        if job == "simdb":
            source, output = places
            app(["dedup", source, "--unit", what, "-o", output, "--quiet"], standalone_mode=False)
        else:
            by_set(what, *places)
        cost = {"peak_bytes": peak_bytes() - before}
    now = os.times()
    cost |= {
        "seconds": time.perf_counter() - started,
        "processor_seconds": now.user + now.system - used.user - used.system,
    }
    print(json.dumps(cost))


def by_set(unit: str, source: str, output: str) -> None:
    """Do the job as a loop does it."""
    seen: set[bytes] = set()
    with open(source, "rb") as lines, open(output, "w", encoding="utf-8") as kept:
        for line in lines:
            row = json.loads(line)
            pieces = ENDS[unit].split(row["text"])
            left = []
            for at in range(0, len(pieces), 2):
                words = WORDS.findall(pieces[at].lower())
                if len(words) >= MIN_WORDS:
                    key = blake2b(" ".join(words).encode(), digest_size=8).digest()
                    if key in seen:
                        continue
                    seen.add(key)
                left += pieces[at : at + 2]
            if left:
                row["text"] = "".join(left)
                kept.write(json.dumps(row, ensure_ascii=False) + "\n")


def keys(job: str, count: int) -> dict[str, float]:
    """Put so many keys into a set, in batches; return the bytes of each distinct key."""
    before = peak_bytes()
    chance = np.random.default_rng(1)
    seen, known = SeenKeys(), set()
    for _ in range(0, count, BATCH_KEYS):
        some = chance.integers(count, size=BATCH_KEYS, dtype=np.uint64)
        some *= np.uint64(0x9E3779B97F4A7C15)  # an odd number: distinct keys stay distinct
        if job == "simdb":
            seen.add(some)
        else:
            known.update(some.tolist())
    distinct = len(seen) or len(known)
    return {"key_bytes": (peak_bytes() - before) / distinct}


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main()
