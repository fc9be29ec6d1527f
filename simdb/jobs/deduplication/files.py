"""Files: deduplication of files and folders, without holding all texts in memory."""

import os
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from simdb import files
from simdb.core.arrow import load_arrow
from simdb.core.choices import DROP, ERROR, KEEP
from simdb.core.decoding import HEXADECIMAL
from simdb.core.dtypes import Bools
from simdb.core.errors import InputError, NotPickledError, OptionError
from simdb.core.fields import FieldName, checked_field, field_named
from simdb.core.options import Bits
from simdb.core.skipped import Skipped
from simdb.core.threads import bounded, thread_count
from simdb.jobs.deduplication.rows import RowHashes
from simdb.storage import TemporaryFolder

USUAL_ID = "id"

Paths = Sequence[str]


def paths_of(data: Any) -> list[str] | None:
    """Return the paths that `data` names: a path or pattern, or a list of `os.PathLike`.

    Returns None for anything else.  A list of str holds texts.  Raises InputError if each str names
    a file.
    """
    if isinstance(data, str | os.PathLike):
        return [os.fspath(data)]
    is_listed = isinstance(data, list | tuple) and len(data) > 0
    if is_listed and all(isinstance(each, os.PathLike) for each in data):
        return [os.fspath(each) for each in data]
    if is_listed and all(isinstance(each, str) and os.path.isfile(each) for each in data):
        raise InputError(
            f"data is a list of texts, but each is the path of a file, such as {data[0]!r}; to read"
            " the files give [pathlib.Path(path) for path in data], and to compare the paths give"
            ' [{"text": path} for path in data]'
        )
    return None


def reading_of(
    id: FieldName | None,
    text: FieldName,
    encoding: str,
    errors: str,
    on_null: str,
    *,
    fields: Iterable[FieldName] = (),
    threads: int | None = None,
    memory: int | None = None,
    hashes: Bits | None = None,
) -> files.SourceOptions:
    """Return the options for reading the documents of a Python call.

    Raises OptionError if `id` is not the name of a field.
    """
    if id is not None and not isinstance(id, str | tuple):
        raise OptionError("for files, id= must be the name of a field")
    usual, named = files.SourceOptions(), USUAL_ID if id is None else id
    given = tuple(name for name in (id, text) if name not in (None, usual.text_field))
    return files.SourceOptions(
        id_field=named, text_field=checked_field("text", text), encoding=encoding,
        errors=errors, digits="" if hashes is None else HEXADECIMAL,
        given=given, fields=tuple(fields), has_fields=False, has_lines=True, has_absent=True,
        # A document without text is also read if it will be dropped, so that it has a position.
        on_null=KEEP if on_null == DROP else on_null,
        threads=threads, memory=memory,
    )  # fmt: skip


def opened(
    paths: Paths,
    reading: files.SourceOptions,
    held: ExitStack,
    skipped: Skipped,
    staying: files.Staying | None = None,
    hashes: Bits | None = None,
) -> "Files":
    """Return the documents of files and folders, which can be read again until `held` is closed.

    `skipped`, `staying`, `hashes`: see `Files`.
    """
    sources = sources_of(paths, reading)
    own = replace(reading, origins=held.enter_context(files.Origins()))
    return Files(sources, own, skipped, staying, hashes)


def sources_of(paths: Paths, reading: files.SourceOptions) -> list[str]:
    """Return the files and folders that paths name; raise InputError if one cannot be read.

    Issues a RuntimeWarning for a folder with files of records.
    """
    sources = files.expanded(paths)
    try:
        files.check_sources(sources, reading)
    except InputError as error:
        raise InputError(str(error), python="a text goes into a list: [text]") from error
    for hint in files.source_hints(sources, reading):
        warnings.warn(hint, RuntimeWarning, stacklevel=2)
    return sources


def records_of(
    paths: Paths, names: Sequence[FieldName], reading: files.SourceOptions, skipped: Skipped
) -> list[dict[Any, Any]]:
    """Return the records in files and folders, with their ids and the fields `names`.

    The text of a file that is one document goes into the first field.  Raises FieldError if a
    source of records lacks a field.
    """
    reading = replace(
        reading, text_field=names[0], fields=tuple(names), given=tuple(names), has_texts=False,
        has_lines=False, on_null=KEEP,
    )  # fmt: skip
    label = field_named(reading.id_field).label
    records: list[dict[Any, Any]] = []
    for batch in Files(sources_of(paths, reading), reading, skipped).batches():
        columns = batch.ids, batch.texts, batch.fields or [None] * len(batch)
        for own, content, fields in zip(*columns, strict=True):
            records.append({label: own, **({names[0]: content} if fields is None else fields)})
    return records


class Files:
    """The documents in the sources of one run."""

    def __init__(
        self,
        sources: Paths,
        reading: files.SourceOptions,
        skipped: Skipped,
        staying: files.Staying | None = None,
        hashes: Bits | None = None,
    ) -> None:
        """Read `sources` with the options `reading`.

        `skipped` takes unreadable documents, if it is allowed.  `staying`: files that no output may
        replace.  `hashes`: the sketch, if documents are hashes.
        """
        self._hashes = hashes
        self.sources, self.reading, self.staying = sources, reading, staying or {}
        self.skipped = skipped
        self.count = 0
        self._nulls: list[Bools] = []

    @property
    def origins(self) -> files.Origins:
        """The places of lines that can be read again."""
        assert self.reading.origins is not None, "they are read again"
        return self.reading.origins

    @property
    def nulls(self) -> Bools:
        """Whether each document so far has no text: bool[n]."""
        return np.concatenate([np.empty(0, np.bool_), *self._nulls])

    def batches(self) -> Iterator[files.Batch]:
        """Yield all documents in batches; raise InputError for the first unreadable one."""
        files.AMOUNT.begin()
        for each in files.read_sources(self.sources, self.reading):
            if isinstance(each, files.InputProblem):
                is_null = self.reading.on_null == ERROR and each.is_null
                if is_null or not self.skipped.is_allowed:
                    raise InputError(f"{each.where}: {each.reason}")
                row = self.count + len(self.skipped)
                self.skipped.add(row, each.where, each.reason)
                continue
            if self._hashes is not None:
                each = self._readable(each, self._hashes)
                if not len(each):
                    continue
            self.count += len(each)
            none = np.zeros(len(each), np.bool_)
            self._nulls.append(none if each.nulls is None else each.nulls)
            yield each
        if note := files.left_out_note():
            warnings.warn(note, RuntimeWarning, stacklevel=2)

    def _readable(self, batch: files.Batch, sketch: Bits) -> files.Batch:
        """Return the documents that are hashes or null; skip the rest, or raise InputError."""
        first = self.count + len(self.skipped)

        def leave_out(at: int, id: Any, reason: str) -> None:
            if not self.skipped.is_allowed:
                raise InputError(f"{batch.where(at)}: {reason}")
            self.skipped.add(first + at, batch.where(at), reason)

        bad = Skipped(leave_out)
        RowHashes.read(batch.texts, sketch, bad, batch.nulls)
        bad.named()
        return batch.chosen(np.flatnonzero(~bad.flags(len(batch)))) if len(bad) else batch

    def survivors(self, target: Any) -> files.SurvivorOutput:
        """Return an output that writes documents to a target."""
        return files.SurvivorOutput(target, self.sources, self.reading)


def not_pickled() -> NotPickledError:
    """Return the error for pickling a result that reads texts again."""
    return NotPickledError(
        "this result cannot be pickled or copied, because it reads texts again in their files; take"
        " what you need of it, such as data and kept"
    )


class KeptDocuments:
    """The kept documents of files; the object frees what it needs to read them again."""

    def __init__(
        self, read: Files, lines: files.LinesAgain, kept: Bools, held: "ExitStack | KeptDocuments"
    ) -> None:
        """Own `held`, which frees `lines`, or share it with other documents of the same run."""
        self._files, self._lines, self._kept, self._held = read, lines, kept, held
        if isinstance(held, ExitStack):
            weakref.finalize(self, held.close)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise not_pickled()

    def chosen(self, kept: Bools) -> "KeptDocuments":
        """Return the documents of the same run with a flag in `kept`."""
        return KeptDocuments(self._files, self._lines, kept, self)

    @property
    def staying(self) -> files.Staying:
        """The files that no page or list may replace."""
        own = [each for each in self._files.sources if not os.path.isdir(each)]
        return {"in data": own, **self._files.staying}

    def write(self, path: str, *, in_place: bool = False) -> None:
        """Write the documents to a file or folder; see `Deduplicated.write`."""
        read = self._files
        files.check_outputs(
            {"path": path}, read.sources, read.staying, kept=["path"], in_place=in_place,
            remedy="in_place=True",
        )  # fmt: skip
        form = files.keep_format(path, read.sources, read.reading, read.staying)
        if form.has_paths:
            raise OptionError(
                f"{path}: documents that are files are written as records, each with its path and"
                " its text; let the name end in .jsonl, .csv, .tsv or .parquet"
            )
        with bounded(read.reading.threads), files.written(path, form) as target:
            self._lines.copy(self._kept, read.survivors(target))

    @property
    def data(self) -> Any:
        """The documents as a pyarrow.Table, with the fields of their records."""
        parquet = load_arrow("the survivors of files", "pyarrow.parquet")
        threads = thread_count(self._files.reading.threads)
        with TemporaryFolder(None) as folder:
            path = os.path.join(folder, "kept.parquet")
            self.write(path)
            with parquet.ParquetFile(path) as file:
                return file.read(use_threads=threads > 1)
