"""Filled: a database of one kind of document that grows from size to size, and its queries.

Every insertion is timed, and its memory and the bytes that it writes are watched.  A task is asked
with each number of threads in turn; what has become too slow is left out.
"""

import argparse
import gc
import os
import statistics
from ast import literal_eval
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import simdb
from documents import DISTANCE, Source, parts, source_of
from process import Watcher, written_bytes
from record import TURN_SECONDS, Record, Timing, measure, short
from simdb.core.threads import SharedWork

BY_METHOD: dict[str, dict[str, Any]] = {
    "exhaustive": {"recall": 1.0},
    "bphs": {"distance": DISTANCE, "recall": 1.0},
    "psm": {"distance": DISTANCE, "recall": 0.95},
}
PROBING = ("psm", "multiprobe")
SAMPLED = 20_000  # documents like the queries, for the calibration of a database without weights
BITS = ("fingerprints", "noisy")  # kinds that no similarity can be asked for
MILLION = 1_000_000
RANKS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


class Filled:
    """One kind of document: its database, its queries, and the tasks that have become too slow."""

    def __init__(
        self, record: Record, arguments: argparse.Namespace, kind: str, folder: Path
    ) -> None:
        """Create the database."""
        self.record, self.arguments, self.kind, self.folder = record, arguments, kind, folder
        self.source: Source = source_of(kind, arguments)
        self.left_out: set[tuple[str, str]] = set()
        self.documents: list[Any] = []  # kept for peers and arrays only
        self.count, self.growing = 0, 1.0  # stored documents, and how many times more are next
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

        Making documents is not timed.  `draw.py` draws what is noted of each million.
        """
        timing, millions, begun = Timing(), list[dict[str, Any]](), written_bytes(os.getpid())
        before, self.is_calibrated = self.count, False
        is_one = self.arguments.one
        target = self.database.write() if is_one else self.database
        with closing(Watcher(os.getpid())) as watcher:
            told, start = 0, before  # transactions and documents of the millions before
            for names, documents in parts(self.source, before, count, self.arguments.batch):
                measure(partial(target.insert_many, names, documents), timing)
                if self.arguments.peers or "array" in self.arguments.ask:
                    self.documents.append(
                        self.source.features if self.kind == "signatures" else documents
                    )
                if names.stop % MILLION == 0 or names.stop == count:
                    spent = Timing(timing.wall[told:], timing.processor[told:])
                    millions.append({
                        "stored": names.stop, "documents": names.stop - start,
                        "seconds": sum(spent.wall), "processor": sum(spent.processor),
                        "longest": max(spent.wall), "longest_processor": max(spent.processor),
                        "anonymous_bytes": watcher.peak_bytes(),
                        "runs": len(self.database.stats().runs),
                    })  # fmt: skip
                    told, start = len(timing.wall), names.stop
            if is_one:
                measure(target.commit, timing)
        self.count = count
        if len(self.database) != count:
            raise ValueError("some documents were not stored")
        self._tell_insertion(count - before, timing, millions, written_bytes(os.getpid()) - begun)

    def _tell_insertion(
        self, added: int, timing: Timing, millions: list[dict[str, Any]], written: int
    ) -> None:
        what = f"{self.label}: insert_many, {short(self.arguments.batch)} a transaction"
        commits = Timing(timing.wall[-1:]) if self.arguments.one else timing
        ordered = sorted(commits.wall)
        ranks = ", ".join(
            f"{name} {ordered[int(len(ordered) * rank)] * 1e3:.2f}" for name, rank in RANKS.items()
        )
        facts = self.facts("insert", "one document", timing.summed().over(added))
        note = f"longest transaction {max(timing.wall):.2f} s"
        self.record.add_rate(what, added, "documents/s", timing.summed(), note, facts)
        rates = [each["documents"] / each["processor"] for each in millions]
        runs = statistics.mean(each["runs"] for each in millions)
        note = f"by processor time; {runs:.1f} runs at the ends of millions in the mean"
        self.record.add(
            f"{self.label}: slowest million, by the first", min(rates) / rates[0], "", note=note,
            facts={"millions": millions, "label": self.label},
        )  # fmt: skip
        note = f"{len(ordered)} commits, {ranks}"
        self.record.add(f"{self.label}: commit, longest", ordered[-1] * 1e3, "ms", note=note)
        peak = max(each["anonymous_bytes"] for each in millions)
        self.record.add(f"{self.label}: anonymous memory", peak / 1e6, "MB")
        stats, count = self.database.stats(), self.count
        self.record.add(f"{self.label}: written, by live bytes", written / stats.live_bytes, "")
        sections = [f"{name} {size / count:.1f}" for name, size in stats.section_bytes.items()]
        note = f"{len(stats.runs)} runs; {' '.join(sections)}"
        self.record.add(f"{self.label}: live", stats.live_bytes / count, "bytes", note=note)
        size = sum(file.stat().st_blocks * 512 for file in self.path.iterdir())
        self.record.add(f"{self.label}: on disk", size / count, "bytes")

    def compact(self) -> None:
        timing, begun = Timing(), written_bytes(os.getpid())
        with closing(Watcher(os.getpid())) as watcher:
            measure(self.database.compact, timing)
            peak = watcher.peak_bytes()
        written = (written_bytes(os.getpid()) - begun) / self.database.stats().live_bytes
        note = f"{peak / 1e6:.0f} MB of anonymous memory, written by live bytes {written:.1f}"
        self.record.add_rate(f"{self.label}: compact", self.count, "documents/s", timing, note)

    def facts(self, method: str, task: str, each: Timing) -> dict[str, Any]:
        """Return what `draw.py` reads."""
        return {
            "kind": self.kind, "method": method, "task": task, "count": self.count,
            "each_seconds": each.median, "each_processor": statistics.median(each.processor),
        }  # fmt: skip

    def criterion(self, method: str, *, is_asked: bool = True) -> dict[str, Any]:
        """Return what a method is asked for."""
        has_weights = self.kind not in BITS
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
        """Return what finds all that a method is asked for."""
        asked = self.criterion("exhaustive" if self.kind not in BITS else "bphs")
        wanted = self.criterion(method, is_asked=False)
        return asked | {name: value for name, value in wanted.items() if name != "recall"}

    def methods(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each method and what it is asked for; calibrate once before those that probe."""
        for method in self.arguments.method:
            asked, timing = self.criterion(method), Timing()
            try:
                if method in PROBING and not self.is_calibrated:
                    sample = self.source.queries(SAMPLED) if self.kind == "noisy" else None
                    measure(partial(self.database.calibrate, sample), timing)
                    self.is_calibrated = True
                    facts = self.facts("calibrate", "once", timing)
                    what = f"{self.label}: calibrate"
                    self.record.add(what, timing.median, "s", timing, "", facts)
                plan = self.database.plan(**asked)
            except simdb.OptionError as error:
                print(f"{self.label}: {method} is left out: {error}")
                continue
            print(f"{self.label}: {method}: {plan.method}, recall planned {plan.recall:.3f}")
            yield method, asked

    def rate(
        self,
        what: str,
        things: int,
        task: Callable[[int], Any],
        *,
        method: str = "",
        unit: str = "queries/s",
        drawn: str = "",
        note: Callable[[Any], str] = lambda _: "",
    ) -> Any:
        """Add the rate of a task that takes a number of threads; return its first result."""
        place, name = (what, method), f"{self.label}: {f'{method}: ' if method else ''}{what}"
        if place in self.left_out:
            return None
        first, numbers = Timing(), self.arguments.threads
        result = measure(partial(task, numbers[0]), first)
        if first.median * self.growing > self.arguments.limit:
            self.left_out.add(place)
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
            of = timing.over(1 if drawn == "all pairs" else things)
            facts = self.facts(method, drawn, of) if drawn and each == numbers[0] else None
            self.record.add_rate(shown, things, unit, timing, told, facts)
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
