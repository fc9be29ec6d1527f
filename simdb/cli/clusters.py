"""Command clusters: shows the groups of stored documents that match."""

from typing import Annotated

from simdb.cli.duplicates.stored_texts import check_shown, stored_texts
from simdb.cli.duplicates.work import verification_note
from simdb.cli.options.arguments import (
    Database,
    Distance,
    Output,
    Policy,
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
from simdb.cli.options.dedup_options import check_keep
from simdb.cli.options.grouped import grouped
from simdb.cli.options.opening import open_either
from simdb.cli.options.option_groups import (
    ListingOptions,
    ReadingOptions,
    given_condition,
    given_search,
)
from simdb.cli.output.export import export, export_format
from simdb.cli.output.render import print_note
from simdb.settings.keeping import FIRST

COLUMNS = ("representative", "size", "ids")
WRITTEN = ("id", "representative", "cluster")


@grouped
def clusters(
    db: Database,
    *,
    similarity: Similarity = None,
    distance: Distance = None,
    recall: Recall = None,
    search: Search = None,
    where: Where = None,
    policy: Policy = "connected",
    keep: Annotated[
        str,
        Option(
            metavar="RULE",
            help="Which document stands for a group: first, last, or max:FIELD or min:FIELD of the"
            " metadata.",
        ),
    ] = FIRST,
    output: Output = None,
    text_ids: TextIds = False,
    show: Show = None,
    texts: StoredTexts = None,
    verify: StoredVerify = None,
    listing: ListingOptions,
    inputs: ReadingOptions,
) -> None:
    """Show the groups of stored documents that match, the representative of each first.

    Sketches decide or, with --texts, the exact similarity of the texts.

    Exit code 1 if there are any, with --exit-code.
    """
    check_keep(keep)
    check_shown(show, texts, verify, output, inputs)
    if output is not None:
        export_format(output)
    with (
        open_either(db) as database,
        stored_texts(texts, inputs, database.options.sketch) as stored,
    ):
        found = database.find_clusters(
            similarity=similarity, distance=distance, recall=recall, search=given_search(search),
            where=None if where is None else given_condition(where), policy=policy, keep=keep,
            **stored.deciding(verify, similarity, distance),
        )  # fmt: skip
        if output is not None:
            count, note = export(found, output, WRITTEN, text_ids=text_ids)
            print_note(note)
        else:
            rows = (
                {"representative": each.representative, "size": len(each), "ids": each.ids}
                for each in found
            )
            columns = COLUMNS if show is None else (*COLUMNS, "texts")
            count = int(listing.show(stored.shown(rows, show), columns))
        listing.note(verification_note(found.verification))
    listing.end(has_found=count > 0)
