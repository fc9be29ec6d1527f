"""Result: what `simdb.decontaminate` gives back."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import report
from simdb.decontamination.leaks import COLUMNS, Leak, leak_table
from simdb.deduplication.result import Survivors
from simdb.ground.previews import counted
from simdb.outputs.formats import output_format
from simdb.outputs.table_file import write_rows
from simdb.outputs.target import written


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decontaminated:
    """What stays of some data without the items of a reference, and the items found in it.

    `found`: a `Leak` for each item in each document, by document; `leaks` has them as a table.
    `kept` bool[n]: whether each document stayed.  `items`: how many items were looked for, and
    `leaked`: the ids of the items found, in the order of the reference.  `short`: items, or fields
    of items, with fewer than five words, which were not looked for.  `words`: how many words the
    data has.
    """

    survivors: Survivors
    kept: npt.NDArray[np.bool_]
    found: Sequence[Leak]
    items: int
    leaked: Sequence[Any]
    short: int
    words: int

    @property
    def leaks(self) -> Any:
        """The items found, as a pyarrow.Table with a row for each item in each document.

        Columns: `id` of the document, `item`, `field`, `coverage` float32, `hits` int64, `span` and
        `item_span` (where the first shared passage begins and the last one ends, in characters of
        the document and of the item, int64[2]), `rarest`, the rarest shared n-gram, `count`, how
        many documents have it, and `text`, the document in `span`.
        """
        return leak_table(self.found)

    @property
    def data(self) -> Any:
        """What stays, in its order and of the kind that was given; see `Deduplicated.data`."""
        return self.survivors.data

    def write(self, path: "str | os.PathLike[str]") -> None:
        """Write what stays to a file, see `Deduplicated.write`."""
        self.survivors.write(os.fspath(path))

    def write_leaks(self, path: "str | os.PathLike[str]") -> None:
        """Write the rows of `leaks` to a file that ends in .jsonl, .csv, .tsv or .parquet.

        All but the last can end in .gz or .zst, too.
        """
        name = os.fspath(path)
        with written(name, output_format(name, "path")) as target:
            assert target is not None, "a path and a format make a target"
            write_rows(lambda: (leak.row for leak in self.found), target, COLUMNS)
            target.finish()

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Write a page with each leak: the passage of the document beside the item.

        The page is one HTML file that loads nothing.  The leaks of which documents have the least
        come first; a page shows 2,000 at most, and says how many were left out.  Raises OptionError
        if jinja2 is not installed, or if the page cannot be written there.
        """
        place = os.fspath(path)
        report.template.check_page(place)
        # The least covered tell whether the rule is right.
        ordered = sorted(self.found, key=lambda leak: leak.coverage)
        shown = ordered[: report.leaks.SHOWN_LEAKS]
        facts = report.leaks.Leaks(
            items=self.items, leaked=len(self.leaked), documents=len(self.kept),
            with_item=self.documents, leaks=len(self.found),
            pairs=[
                report.leaks.pair_of(
                    (leak.id, leak.item), leak.field, (leak.text, leak.item_text), leak.coverage,
                    leak.rarest, leak.count,
                )
                for leak in shown
            ],
        )  # fmt: skip
        report.template.write_page(report.leaks.render(facts), place)

    @property
    def documents(self) -> int:
        """How many documents have an item."""
        return len({leak.id for leak in self.found})

    def __len__(self) -> int:
        """Count the documents that stay."""
        return int(np.count_nonzero(self.kept))

    def __repr__(self) -> str:
        """Return the counts in two lines."""
        found, documents = counted(self.items, "item"), counted(self.documents, "document")
        return (
            f"<simdb.Decontaminated: {len(self.leaked):,} of {found} found in {documents}\n"
            f" {len(self):,} of {len(self.kept):,} documents kept; {self.short:,} with fewer than"
            " five words not looked for>"
        )
