"""Command pairs: shows all pairs of stored documents that match."""

import sys
from collections.abc import Iterator
from typing import Annotated

import simdb
from simdb.cli.duplicates.stored_texts import check_shown, stored_texts
from simdb.cli.duplicates.work import verification_note
from simdb.cli.options.arguments import (
    Contained,
    Database,
    Distance,
    Output,
    Recall,
    Search,
    Show,
    Similarity,
    StoredTexts,
    StoredVerify,
    TextIds,
    Where,
)
from simdb.cli.options.declare import Option
from simdb.cli.options.grouped import grouped
from simdb.cli.options.opening import one_database, open_either
from simdb.cli.options.option_groups import (
    ListingOptions,
    ReadingOptions,
    given_condition,
    given_search,
)
from simdb.cli.output.export import export, export_format
from simdb.cli.output.render import print_note, rounded
from simdb.cli.output.words import in_words
from simdb.outputs.rows import Row

COLUMNS = ("left", "right", "distance", "similarity")


@grouped
def pairs(
    db: Database,
    *,
    similarity: Similarity = None,
    distance: Distance = None,
    recall: Recall = None,
    search: Search = None,
    where: Where = None,
    contained: Contained = None,
    explain: Annotated[
        bool,
        Option(
            "--explain", help="Say first which method is used, and the share of pairs it finds."
        ),
    ] = False,
    output: Output = None,
    text_ids: TextIds = False,
    show: Show = None,
    texts: StoredTexts = None,
    verify: StoredVerify = None,
    listing: ListingOptions,
    inputs: ReadingOptions,
) -> None:
    """Show all pairs of stored documents that match.

    Sketches decide or, with --texts, the exact similarity of the texts.  With --contained, a pair
    is a document, left, that is contained in another one, right.

    Exit code 1 if there are any, with --exit-code.
    """
    check_shown(show, texts, verify, output, inputs)
    measured = COLUMNS if contained is None else (*COLUMNS, "containment")
    if output is not None:
        export_format(output)
    with (
        open_either(db) as database,
        stored_texts(texts, inputs, database.options.sketch) as stored,
    ):
        deciding = stored.deciding(verify, similarity, distance)
        if contained is not None:
            one_database(database, "--contained")
            deciding = {"contained": contained, "texts": stored.texts, "verify": verify}
        found = database.find_all(
            similarity=similarity, distance=distance, recall=recall, search=given_search(search),
            where=None if where is None else given_condition(where), **deciding,
        )  # fmt: skip
        if explain:
            plan = found.plan
            reason = in_words(plan.reason)
            print(f"{plan.method}, recall {plan.recall:.4g}: {reason}", file=sys.stderr)
        if output is not None:
            count, note = export(found, output, measured, text_ids=text_ids)
            print_note(note)
        else:
            columns = measured if show is None else (*measured, "left_text", "right_text")
            count = int(listing.show(stored.shown(_rows(found), show), columns))
        listing.note(verification_note(found.verification))
    listing.end(has_found=count > 0)


def _rows(found: simdb.Pairs) -> Iterator[Row]:
    for pair in found:
        measured = {"distance": pair.distance, "similarity": rounded(pair.similarity)}
        if pair.containment is not None:
            measured["containment"] = rounded(pair.containment)
        yield {"left": pair.left, "right": pair.right, **measured}
