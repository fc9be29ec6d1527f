"""Reads JSON lines into a DataFrame, removes duplicates in it, and prints what that has cost.

python of_frame.py FILE JOB TYPE: TYPE is "object" or "str", the type of the column; JOB is
"drop_duplicates" (of pandas) or "deduplicate" (of simdb).  The costs are without reading the file.
"""

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import pandas

import simdb
from simdb.storage.files import temporary

PAUSE_SECONDS = 0.02


class Memory:
    """The most memory that the process has: its own, and files of temporary databases."""

    def __init__(self) -> None:
        self._start = self._now()
        self.most_bytes = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(PAUSE_SECONDS):
            self.most_bytes = max(self.most_bytes, self._now() - self._start)

    def _now(self) -> int:
        status = Path("/proc/self/status").read_text()
        own = int(status.partition("RssAnon:")[2].split()[0]) * 1024
        place = Path(temporary._place() or tempfile.gettempdir())
        return own + sum(map(size_of, place.glob(f"{temporary.PREFIX}*/*/*")))


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it was removed in the meantime
        return 0


def main() -> None:
    path, job, kind = sys.argv[1:]
    with open(path, "rb") as file:
        texts = [json.loads(line)["text"] for line in file]
    frame = pandas.DataFrame({"text": pandas.Series(texts, dtype=kind)})
    del texts
    used = os.times()
    started = time.perf_counter()
    with Memory() as memory:
        if job == "drop_duplicates":
            kept = frame.drop_duplicates("text")
        else:
            kept = simdb.deduplicate(frame).data
    now = os.times()
    cost = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": now.user + now.system - used.user - used.system,
        "peak_bytes": memory.most_bytes,
        "frame_bytes": int(frame.memory_usage(deep=True).sum()),
        "kept": len(kept),
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
