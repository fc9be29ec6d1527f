"""Against: opens what --against names, texts or a database, which the input is compared with."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import simdb
from simdb.cli.output.progress import Progress
from simdb.cli.reading.intake import Intake
from simdb.deduplication.reference import DatabaseReference, FileReference, Reference
from simdb.deduplication.references import check_apart
from simdb.ground.choices import KEEP
from simdb.ground.errors import OptionError
from simdb.sources.amount import AMOUNT, expected_documents
from simdb.sources.batch import Batch
from simdb.sources.encoding_guess import GUESSED
from simdb.sources.origins import Origins
from simdb.sources.reading import read_sources
from simdb.sources.records import SourceOptions
from simdb.storage.files.location import is_database


class Against(NamedTuple):
    """What --against names, and how its files are read; None for nothing."""

    reference: Reference | None = None
    intake: Intake | None = None

    @property
    def skipped(self) -> int:
        """How many of its files and records were skipped."""
        return 0 if self.intake is None else self.intake.skipped


def check_against(
    against: Sequence[str], sources: Sequence[str], outputs: Collection[str | None]
) -> None:
    """Raise an error if a file of --against is also a source or an output."""
    if len(against) != 1 or not is_database(against[0]):
        check_apart(sources, against)
    places = set(map(os.path.realpath, against))
    for path in outputs:
        if path is not None and os.path.realpath(path) in places:
            raise OptionError(f"{path} is in --against, which stays as it is; name another output")


@contextmanager
def opened_against(
    against: Sequence[str],
    reading: SourceOptions,
    excluded: Collection[str],
    progress: Progress,
    allow: Collection[str],
) -> Iterator[Against]:
    """Yield the sources or the database `against`, open until the input is compared.

    `reading`: that of the input.  `excluded`: as `read_sources` takes it.
    """
    if not against:
        yield Against()
    elif is_database(against[0]):
        with simdb.open(against[0], "r", allow=allow) as held:
            yield Against(DatabaseReference(held))
    else:
        origins = Origins()
        own = replace(
            reading, has_lines=False, has_paths=False, has_fields=False, on_null=KEEP,
            origins=origins,
        )  # fmt: skip
        intake = Intake(read_sources(against, own, excluded=excluded), progress)
        read = FileReference(_batches(intake), origins, expected_documents(against))
        yield Against(read, intake)


def _batches(intake: Intake) -> Iterator[Batch]:
    """Yield all batches; what is read next begins to count anew."""
    yield from intake.batches(None)
    AMOUNT.begin()
    GUESSED.clear()
