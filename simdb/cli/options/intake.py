"""Intake: puts the documents of readers into even batches, counts them and reports problems.

At the end come hints about documents that look like HTML or are short.  A `KeptOutput` takes the
documents that are kept, unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from simdb import core, files, sketch as sketching
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import FINDINGS, Exit, in_words, quantity
from simdb.core.choices import ERROR, RAISE, SKIP
from simdb.core.errors import InputError
from simdb.core.values import dataclass, replace

BATCH_DOCUMENTS = 8192
BATCH_BYTES = 1 << 25
# Problems of one kind that are reported per file or folder.  A file in a wrong format has a problem
# in every record, and a folder can be full of images.
REPORTED_PROBLEMS = 20
# A field that is missing in one record is nearly always missing in the whole file.
REPORTED_NO_FIELD = 3
# Limit on kinds, which could be endless since a reason can contain parts of a record.
KINDS_MAX = 1000
NUMBER = re.compile(r"\d+")
# Texts of a batch whose words are counted, and characters per text.
LOOKED_AT_TEXTS = 16
LOOKED_AT_CHARACTERS = 2000
# Words are counted in the first batches, then in one batch of LATER_BATCHES.
FIRST_BATCHES, LATER_BATCHES = 16, 4
# Fewer documents get no hint.
DOCUMENTS_LEAST = 10


@dataclass(slots=True)
class _Alike:
    """Problems of one kind: the place of the first, the limit on reports, their number."""

    first: str
    reported: int
    count: int = 0


class Intake:
    """The batches of a run, with counts of `documents`, `size_bytes` and `skipped` input.

    `dropped` counts the records without a text that --on-null drop left out.
    """

    def __init__(
        self, found: files.Found, progress: Progress, on_null: str = "", on_error: str = SKIP
    ) -> None:
        """Take what readers found; `progress` shows the counts and reports the problems.

        `on_null`, `on_error`: see `SourceOptions`.
        """
        files.AMOUNT.begin()
        self._found = found
        self.progress = progress
        self._problems: dict[tuple[str, str], _Alike] = {}
        self._markup_hint: str | None = None
        self._short_hint: ShortHint | None = None
        self.documents = 0
        self._has_text = False
        self.size_bytes = 0
        self.skipped = 0
        self.dropped = 0
        self._refused = 0
        self._on_null, self._on_error = on_null, on_error
        self._hashes: sketching.HashSketcher | None = None

    @classmethod
    def of(
        cls,
        sources: Collection[str],
        reading: files.SourceOptions,
        progress: Progress,
        *,
        excluded: Collection[str] = (),
        has_parts: bool = False,
    ) -> Intake:
        """Read `sources` as `reading` says; `excluded`: see `read_sources`.

        `has_parts`: parts of documents are compared, so no hint needs to suggest this for a log.
        """
        for hint in files.source_hints(sources, reading, notes_logs=not has_parts):
            progress.note(in_words(hint))
        found = files.read_sources(sources, reading, excluded=excluded)
        return cls(found, progress, reading.on_null, reading.on_error)

    def expect(self, sketch: core.text_sketch.TextSketch) -> None:
        """Accept only hashes if `sketch` is of hashes; to be called before reading."""
        bits = sketch if isinstance(sketch, core.options.Bits) else None
        self._hashes = None if bits is None else sketching.HashSketcher(bits)

    def begin(self) -> None:
        """Read up to the first document with a text; `batches` yields these documents, too.

        Raises InputError if there is none, because all input was skipped.
        """
        first = []
        for each in self._found_some():
            first.append(each)
            if self._has_text:
                break
        self._found = chain(first, self._found)
        self._check_any()

    def batches(
        self, sketch: core.text_sketch.TextSketch | None, *, notes_short: bool = False
    ) -> Iterator[files.Batch]:
        """Yield all documents in batches of bounded size.

        Whether texts that look like HTML get a hint depends on `sketch`; None for no hint, in a
        command without that option.  `notes_short`: give a hint about short documents.  Hints come
        at the end, where other notes do not hide them.
        """
        self._short_hint = ShortHint() if notes_short else None
        held: list[files.Batch] = []
        count = size = read = 0
        for each in self._found_some():
            if sketch is not None and not self._markup_hint:
                self._markup_hint = each.markup_hint(sketch)
            held.append(each)
            read += len(each)
            count += len(each)
            size += int(each.sizes.sum())
            if count >= BATCH_DOCUMENTS // 4 or size >= BATCH_BYTES:
                # No rest is held back: a part of a batch keeps the texts of the whole batch.
                yield from self._cut(held)
                held, count, size = [], 0, 0
        if held:
            yield from self._cut(held)
        for (source, _), alike in self._problems.items():
            if alike.count > alike.reported:
                more = alike.count - alike.reported
                self.progress.report(f"{source}: {more:,} more like {alike.first}")
        core.skipped.check_balance(read, **{"passed on": self.documents, "refused": self._refused})
        self._check_any()
        short = None if self._short_hint is None else self._short_hint.note()
        guessed = core.decoding.guessed_note()
        for note in filter(None, (self._markup_hint, short, guessed, files.left_out_note())):
            self.progress.note(note)

    def refusing(self, batch: files.Batch | None, on_error: str) -> Callable[[int, Any, str], None]:
        """Return the function that a verb calls with each document that it cannot read.

        It takes the row, the id and the reason, and counts the document as skipped.  With
        on_error="raise", it raises InputError with the place in `batch` or, without one, the id.
        """

        def refuse(row: int, id: Any, reason: str) -> None:
            self._leave_out(batch, on_error, row, id, reason)
            self.documents -= 1
            self._refused += 1

        return refuse

    def readable(
        self, batches: Iterable[files.Batch], sketcher: sketching.AnySketcher, on_error: str
    ) -> Iterator[files.Batch]:
        """Yield batches without the documents that a sketcher cannot read, see `refusing`."""
        for batch in batches:
            kept = _readable(batch, sketcher, self.refusing(batch, on_error))
            if len(kept):
                yield kept

    @property
    def mean_bytes(self) -> float:
        """The mean size of a document."""
        return self.size_bytes / max(self.documents, 1)

    def summary(self, counts: Sequence[str], seconds: float | None = None) -> str:
        """Return the counts of a run as one line, with time and speed if `seconds` is given."""
        dropped = [f"{self.dropped:,} without a text and left out"] if self.dropped else []
        line = ", ".join([*counts, *dropped])
        if seconds is not None:
            speed = self.size_bytes / 1e6 / max(seconds, 1e-9)
            line += f"; {seconds:.2f} s, {speed:,.1f} MB/s"
        return line + self.skipped_note()

    def spare(self, kept: files.SurvivorOutput | None) -> None:
        """Let the output keep a source that it replaces, if input was skipped."""
        if kept is not None and self.skipped:
            kept.spare_source()

    def check(self, survivors: files.SurvivorOutput | None = None, **places: int) -> None:
        """Raise AssertionError unless the counts of all `places` add up to the documents.

        `survivors`: the output, still partial, which must have a row for each document kept.
        """
        core.skipped.check_balance(self.documents, **places)
        if survivors is not None:
            core.skipped.check_balance(places["kept"], written=survivors.target.rows)

    def end(self) -> None:
        """End the command with exit code 1 if input was skipped."""
        if self.skipped:
            raise Exit(FINDINGS)

    def skipped_note(self) -> str:
        """Return the part of the summary about skipped input, empty if nothing was skipped."""
        if not self.skipped:
            return ""
        what = "file or record" if self.skipped == 1 else "files or records"
        return f"; {self.skipped:,} {what} skipped, reported above"

    def _found_some(self) -> Iterator[files.Batch]:
        """Yield batches, and report problems.

        If hashes are expected, documents that are none are problems up to the first hash.
        """
        for each in self._found:
            if isinstance(each, files.InputProblem):
                self.report(each)
                continue
            if self._hashes is not None and not self._has_text:
                each = _readable(each, self._hashes, partial(self._leave_out, each, self._on_error))
                if not len(each):
                    continue
            self._has_text |= len(each) > 0 and (each.nulls is None or not each.nulls.all())
            yield each

    def _leave_out(
        self, batch: files.Batch | None, on_error: str, row: int, id: Any, reason: str
    ) -> None:
        """Report a document that is skipped; raise InputError with on_error="raise"."""
        where = f"document {id!r}" if batch is None else batch.where(row)
        if on_error == RAISE:
            raise InputError(f"{where}: {reason}")
        self.report(files.InputProblem("" if batch is None else batch.sources[row], where, reason))

    def _check_any(self) -> None:
        """Raise InputError if every text was skipped, most likely because of a wrong option."""
        if self.skipped and not self._has_text:
            what = "the only file or record" if self.skipped == 1 else f"all {self.skipped:,}"
            what += "" if self.skipped == 1 else " files or records"
            what += " with a text" if self.documents else ""
            raise InputError(
                f"{what} had to be skipped, as reported above, so nothing was done or written"
            )

    def _cut(self, held: list[files.Batch]) -> Iterator[files.Batch]:
        """Join batches, and yield them in parts of at most `BATCH_DOCUMENTS` documents."""
        whole = files.Batch.joined(held)
        if len(whole) <= BATCH_DOCUMENTS:
            yield self._counted(whole)
            return
        for start in range(0, len(whole), BATCH_DOCUMENTS):
            yield self._counted(whole.part(start, start + BATCH_DOCUMENTS))

    def _counted(self, batch: files.Batch) -> files.Batch:
        self.documents += len(batch)
        self.size_bytes += int(batch.sizes.sum())
        if self._short_hint is not None:
            self._short_hint.look_at(batch.texts)
        megabytes = self.size_bytes / 1e6
        state = f"{quantity(self.documents, 'document')}, {megabytes:,.0f} MB"
        self.progress.show(state, files.AMOUNT.share())
        return batch

    def report(self, problem: files.InputProblem) -> None:
        """Count and show a skipped file or record.

        Raises InputError for a null with --on-null error.
        """
        if self._on_null and problem.is_null:
            if self._on_null == ERROR:
                raise InputError(f"{problem.where}: {problem.reason}")
            self.dropped += 1
            return
        self.skipped += 1
        if problem.source:
            kind = problem.source, NUMBER.sub("", problem.reason.partition(";")[0])
            if kind not in self._problems and len(self._problems) >= KINDS_MAX:
                kind = problem.source, ""
            most = REPORTED_NO_FIELD if problem.is_lacking else REPORTED_PROBLEMS
            alike = self._problems.setdefault(kind, _Alike(problem.where, most))
            alike.count += 1
            if alike.count > alike.reported:
                return
        self.progress.report(f"{problem.where}: {in_words(problem.reason)}")


def _readable(
    batch: files.Batch, sketcher: sketching.AnySketcher, refuse: Callable[[int, Any, str], None]
) -> files.Batch:
    """Return the documents that a sketcher can read; call `refuse` with all others."""
    skipped = core.skipped.Skipped(refuse)
    skipped.note(lambda row, some: sketcher.sketch(some), 0, batch.texts)
    skipped.named()
    kept = (~skipped.flags(len(batch))).nonzero()[0]
    return batch if len(kept) == len(batch) else batch.chosen(kept)


def is_default(
    options: core.options.Options, similarity: float | None, distance: int | None
) -> bool:
    """Return whether the default threshold applies, given --similarity and --distance."""
    return (
        similarity is None
        and distance is None
        and options.has_similarities
        and round(options.similarity, 3) == options.scale.usual
    )


class ShortHint:
    """The lengths of some documents of a run, for the hint at its end."""

    def __init__(self) -> None:
        """Start without documents."""
        self._words: list[int] = []
        self._batches = 0

    def look_at(self, texts: core.arrow.Texts) -> None:
        """Count the words of some texts of a batch."""
        self._batches += 1
        if self._batches > FIRST_BATCHES and self._batches % LATER_BATCHES:
            return
        count = min(len(texts), LOOKED_AT_TEXTS)
        places = [at * (len(texts) - 1) // max(count - 1, 1) for at in range(count)]
        heads = [sketching.TAG.sub(" ", str(texts[at])[:LOOKED_AT_CHARACTERS]) for at in places]
        self._words += [words for words in sketching.count_words(heads).tolist() if words]

    def note(self) -> str | None:
        """Return the hint if the median document is short, or None."""
        if len(self._words) < DOCUMENTS_LEAST:
            return None
        middle, words = len(self._words) // 2, sorted(self._words)
        median = (words[middle] + words[~middle]) / 2
        if median >= sketching.SHORT_WORDS:
            return None
        most = quantity(round(median), "word")
        return (
            f"half of the documents have at most {most}, and the default threshold misses most"
            " near-duplicates among such short documents: simdb tune SOURCE... shows which options"
            " suit them"
        )


class KeptOutput(NamedTuple):
    """An output for unchanged documents of the `sources`; its path is None if not requested."""

    sources: Sequence[str]
    path: str | None
    form: files.Format | None

    @classmethod
    def of(
        cls,
        path: str | None,
        sources: Sequence[str],
        staying: files.Staying,
        reading: files.SourceOptions,
    ) -> KeptOutput:
        """Return the output with its format; raise OptionError if the sources do not fit it.

        `staying`: see `keep_format`.
        """
        if path is None:
            return cls(sources, path, None)
        return cls(sources, path, files.keep_format(path, sources, reading, staying))

    @property
    def has_paths(self) -> bool:
        """Whether it lists or copies documents that are files."""
        return self.form is not None and self.form.has_paths

    def reading(self, reading: files.SourceOptions) -> files.SourceOptions:
        """Return `reading` with the lines of documents that the output needs."""
        return replace(reading, has_lines=self.form is not None, has_paths=self.has_paths)

    def opened(
        self, outputs: files.Outputs, reading: files.SourceOptions, *, has_links: bool = False
    ) -> files.SurvivorOutput | None:
        """Open the output; return None if there is none.  See `SurvivorOutput`."""
        target = outputs.open(self.path, self.form)
        if target is None:
            return None
        return files.SurvivorOutput(target, self.sources, reading, has_links=has_links)
