"""Split: the documents that are looked up, written into two outputs by whether something matches.

Both outputs are whole, or, after an error, as they were.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.cli.options.declare import Option
from simdb.ground.errors import OptionError
from simdb.outputs.formats import FOLDER, PATHS, STANDARD_OUTPUT, Format, output_format
from simdb.outputs.survivors import SurvivorOutput, keep_format
from simdb.outputs.target import Target, side_files, written
from simdb.sources.batch import Batch
from simdb.sources.origins import Origins
from simdb.sources.read_again import LinesAgain
from simdb.sources.reading import columns_of
from simdb.sources.records import SourceOptions, valid_name
from simdb.sources.source_names import holds_records

KINDS = "a .jsonl, .csv, .tsv or .parquet file, also with .gz or .zst, or FOLDER/, as dedup -o does"

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupOutputs:
    """The options of `simdb lookup` about files: the rows, and the documents looked up."""

    output: Annotated[
        str | None,
        Option(
            short="-o",
            metavar="FILE",
            help="Also write the rows to a .jsonl, .csv, .tsv or .parquet file, also with .gz or"
            " .zst. - writes JSON lines to standard output.",
        ),
    ] = None
    new: Annotated[
        str | None,
        Option(metavar="FILE", help=f"Write the documents without a match to {KINDS}."),
    ] = None
    found: Annotated[
        str | None,
        Option(metavar="FILE", help="Write the documents with a match, in the same way."),
    ] = None

    @property
    def parts(self) -> list[str]:
        """The outputs for documents."""
        return [path for path in (self.new, self.found) if path is not None]

    @property
    def own_files(self) -> list[str]:
        """The paths that the outputs use."""
        return [file for path in (self.output, *self.parts) for file in side_files(path)]

    @property
    def is_shown(self) -> bool:
        """Whether standard output is free for the rows."""
        return STANDARD_OUTPUT not in (self.output, *self.parts)

    def check(self, nearest: int | None) -> Format | None:
        """Return the format of the rows, None if they are not written.

        Raises OptionError for outputs that are one, or that --nearest does not have.
        """
        if self.parts and nearest is not None:
            raise OptionError(
                "--new and --found write documents by whether they have a match, and --nearest"
                " shows documents whether they match or not; leave out one of the two"
            )
        given = {"--output": self.output, "--new": self.new, "--found": self.found}
        places: dict[str, str] = {}
        for name, path in given.items():
            if path is None:
                continue
            place = path if path == STANDARD_OUTPUT else os.path.realpath(path)
            if places.setdefault(place, name) != name:
                raise OptionError(f"{name} and {places[place]} are both {path}; name two outputs")
        return None if self.output is None else output_format(self.output, "--output")


class _Output(NamedTuple):
    """An output in the making: whether its documents have a match, and where they go."""

    is_found: bool
    target: Target
    survivors: SurvivorOutput


class LookupSplit:
    """The documents that are looked up, on their way to the outputs."""

    def __init__(self, outputs: Sequence[_Output], lines: LinesAgain) -> None:
        """Fill `outputs`, of which there can be none; `lines` takes where documents lie."""
        self._outputs, self._lines = outputs, lines
        self._found: list[Bools] = []

    def add(self, batch: Batch, is_found: Bools) -> None:
        """Take documents, and which of them have a match."""
        if self._outputs:
            self._lines.add(batch, self._outputs[0].survivors.numbers(batch.sources))
            self._found.append(is_found)

    def write(self) -> None:
        """Write all documents; InputError if a file was changed since it was read."""
        is_found = np.concatenate([np.empty(0, np.bool_), *self._found])
        for each in self._outputs:
            self._lines.copy(is_found == each.is_found, each.survivors)
            each.survivors.finish()

    def notes(self) -> list[str]:
        """Return a line for each output without documents."""
        reasons = {True: "nothing matches", False: "every document has a match"}
        notes = [each.target.note(reasons[each.is_found]) for each in self._outputs]
        return [note for note in notes if note is not None]


@contextmanager
def split_into(
    given: LookupOutputs, sources: Sequence[str], reading: SourceOptions
) -> Iterator[tuple[LookupSplit, SourceOptions]]:
    """Yield what splits the documents of `sources`, and how to read these for it.

    Raises OptionError for an output that the sources do not fit.
    """
    forms = {path: _format(path, sources) for path in given.parts}
    kinds = {form.kind in (FOLDER, PATHS) for form in forms.values()}
    if len(kinds) > 1:
        raise OptionError(
            "--new and --found must both list or copy documents that are files, or both write them"
            " as records; let both names end alike"
        )
    names = list(map(valid_name, sources))
    with ExitStack() as held:
        outputs = []
        for is_found, path in ((False, given.new), (True, given.found)):
            target = held.enter_context(written(path, forms.get(path or "")))
            if target is not None:
                columns = partial(columns_of, reading)
                survivors = SurvivorOutput(target, sources, names, columns=columns)
                outputs.append(_Output(is_found, target, survivors))
        origins = held.enter_context(Origins())
        lines = LinesAgain(origins, outputs[0].target.folder if outputs else None)
        held.push(lines)
        own = replace(reading, origins=origins, has_lines=bool(outputs), has_paths=kinds == {True})
        yield LookupSplit(outputs, lines), own


def _format(path: str, sources: Sequence[str]) -> Format:
    return keep_format(path, {source: holds_records(source) for source in sources})
