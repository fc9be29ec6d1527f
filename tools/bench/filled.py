"""Filled: lets a database of one kind of document grow from size to size, and queries it.

Every insertion is timed, and its memory and written bytes are reported.  A task runs with each
number of threads in turn.
"""

import argparse
import gc
import os
import statistics
from ast import literal_eval
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import simdb
from documents import DISTANCE, Source, parts, source_of
from process import anonymous_bytes, written_bytes
from record import TURN_SECONDS, Record, Timing, measure, short
from simdb.core.threads import SharedWork

BY_METHOD: dict[str, dict[str, Any]] = {
    "exhaustive": {"recall": 1.0},
    "bphs": {"distance": DISTANCE, "recall": 1.0},
    "psm": {"distance": DISTANCE, "recall": 0.95},
}
PROBING = ("psm", "multiprobe")
BITS = "fingerprints"  # the kind that no similarity can be asked for
RANKS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


class Filled:
    """One kind of document: its database and its queries."""

    def __init__(
        self, record: Record, arguments: argparse.Namespace, kind: str, folder: Path
    ) -> None:
        """Create the database."""
        self.record, self.arguments, self.kind, self.folder = record, arguments, kind, folder
        self.source: Source = source_of(kind, arguments)
        self.documents: list[Any] = []  # kept for peers and arrays only
        self.count = 0  # stored documents
        self.is_text = kind in ("texts", "drawn")
        self.path = folder / "db"
        self.database = self.opened("x", options=self.settings)

    def opened(self, mode: str, name: str = "db", **settings: Any) -> simdb.Database:
        """Open a database in the folder."""
        durability = self.arguments.durability
        return simdb.open(self.folder / name, mode, durability=durability, **settings)

    @property
    def settings(self) -> simdb.Options:
        given: dict[str, Any] = {}
        for each in self.arguments.option:
            name, _, value = each.partition("=")
            given[name] = value if value.isidentifier() else literal_eval(value)
        if self.is_text and self.arguments.sketch == "minhash":
            given["sketch"] = simdb.Minhash()
        return simdb.Options(**{"sketch": self.source.options.sketch} | given)

    @property
    def label(self) -> str:
        kind = f"{self.kind}, MinHash" if self.is_text and self.is_minhash else self.kind
        return f"{short(self.count)} {kind}"

    @property
    def is_minhash(self) -> bool:
        return isinstance(self.database.options.sketch, simdb.Minhash)

    def insert(self, count: int) -> None:
        """Store documents up to a number, a commit for each batch or one for all.

        Making documents is not timed.  Memory is looked at between transactions.
        """
        timing, runs, peak, written = Timing(), list[int](), 0, written_bytes(os.getpid())
        before, self.is_calibrated, is_one = self.count, False, self.arguments.one
        target = self.database.write() if is_one else self.database
        for names, documents in parts(self.source, before, count, self.arguments.batch):
            measure(partial(target.insert_many, names, documents), timing)
            if self.arguments.peers or "array" in self.arguments.ask:
                self.documents.append(
                    self.source.features if self.kind == "signatures" else documents
                )
            runs.append(len(self.database.stats().runs))
            peak = max(peak, anonymous_bytes(os.getpid()))
        if is_one:
            measure(target.commit, timing)
        self.count = count
        if len(self.database) != count:
            raise ValueError("some documents were not stored")
        label, add = self.label, self.record.add
        what = f"{label}: insert_many, {short(self.arguments.batch)} a transaction"
        self.record.add_rate(what, count - before, "documents/s", timing.summed())
        ordered = sorted(timing.wall[-1:] if is_one else timing.wall)
        ranks = ", ".join(
            f"{name} {ordered[int(len(ordered) * rank)] * 1e3:.2f}" for name, rank in RANKS.items()
        )
        note = f"{len(ordered)} commits, {ranks}; {statistics.mean(runs):.1f} runs in the mean"
        add(f"{label}: commit, longest", ordered[-1] * 1e3, "ms", note=note)
        add(f"{label}: anonymous memory", peak / 1e6, "MB")
        stats, written = self.database.stats(), written_bytes(os.getpid()) - written
        add(f"{label}: written, by live bytes", written / stats.live_bytes, "")
        sections = [f"{name} {size / count:.1f}" for name, size in stats.section_bytes.items()]
        note = f"{len(stats.runs)} runs; {' '.join(sections)}"
        add(f"{label}: live", stats.live_bytes / count, "bytes", note=note)
        size = sum(file.stat().st_blocks * 512 for file in self.path.iterdir())
        add(f"{label}: on disk", size / count, "bytes")

    def compact(self) -> None:
        timing, begun = Timing(), written_bytes(os.getpid())
        measure(self.database.compact, timing)
        written = (written_bytes(os.getpid()) - begun) / self.database.stats().live_bytes
        note = f"written by live bytes {written:.1f}"
        self.record.add_rate(f"{self.label}: compact", self.count, "documents/s", timing, note)

    def criterion(self, method: str, *, is_asked: bool = True) -> dict[str, Any]:
        """Return the criterion of the queries of a method."""
        has_weights = self.kind != BITS
        asked = dict(BY_METHOD.get(method, {}) if has_weights else BY_METHOD["bphs"])
        if method == "psm":
            asked |= BY_METHOD["psm"]
        names = ("similarity", "distance", "recall")
        given = {name: getattr(self.arguments, name) for name in names}
        if given["similarity"] is not None:
            asked.pop("distance", None)
        asked |= {name: value for name, value in given.items() if value is not None}
        if method in ("exhaustive", "bphs"):
            asked["recall"] = 1.0
        return asked | ({"search": method} if is_asked else {})

    def exhaustively(self, method: str) -> dict[str, Any]:
        """Return the exhaustive search for the criterion of a method."""
        asked = self.criterion("exhaustive" if self.kind != BITS else "bphs")
        wanted = self.criterion(method, is_asked=False)
        return asked | {name: value for name, value in wanted.items() if name != "recall"}

    def methods(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each method and its criterion; calibrate once before methods that probe."""
        for method in self.arguments.method:
            asked, timing = self.criterion(method), Timing()
            try:
                if method in PROBING and not self.is_calibrated:
                    measure(self.database.calibrate, timing)
                    self.is_calibrated = True
                    self.record.add(f"{self.label}: calibrate", timing.median, "s", timing)
                plan = self.database.plan(**asked)
            except simdb.OptionError as error:
                print(f"{self.label}: {method} is left out: {error}")
                continue
            print(f"{self.label}: {method}: {plan.method}, recall planned {plan.recall:.3f}")
            yield method, asked

    def rate(
        self, what: str, things: int, task: Callable[[int], Any], *, method: str = "",
        unit: str = "queries/s", note: Callable[[Any], str] = lambda _: "",
    ) -> Any:  # fmt: skip
        """Add the rate of a task that takes a number of threads; return its first result."""
        name = f"{self.label}: {f'{method}: ' if method else ''}{what}"
        first, numbers = Timing(), self.arguments.threads
        result = measure(partial(task, numbers[0]), first)
        timings, shared = {each: Timing() for each in numbers}, dict.fromkeys(numbers, 0.0)
        if first.median > self.arguments.patience and len(numbers) == 1:
            timings = {numbers[0]: first}
        else:
            times = 1 + int(TURN_SECONDS / (first.median + 1e-9))
            for each in [*numbers] * self.arguments.repeats:
                gc.collect()
                before = SharedWork.total_seconds
                measure(partial(task, each), timings[each], times)
                shared[each] += (SharedWork.total_seconds - before) / times
        told, beside = note(result), timings[numbers[0]]
        for each, timing in timings.items():
            shown = f"{name}, {each} threads" if len(numbers) > 1 else name
            self.record.add_rate(shown, things, unit, timing, told)
            if len(numbers) > 1:
                pairs = zip(beside.wall, timing.wall, strict=True)
                ratio = statistics.median(one / other for one, other in pairs)
                spent = statistics.median(timing.processor) / statistics.median(beside.processor)
                serial = 1 - shared[each] / sum(timing.processor)
                self.record.add(
                    f"{name}: {each} threads beside {numbers[0]}", ratio, "times",
                    note=f"processor {spent:.2f} times, {serial:.1%} of it cannot be shared",
                )  # fmt: skip
        return result
