"""simdb explain: why two documents match, or do not."""

from typing import Annotated

import typer

import simdb
from simdb.cli.explaining import print_explanation
from simdb.cli.options import arguments
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch, sketched
from simdb.cli.reading.content import STANDARD_INPUT, known_encoding, read_file
from simdb.cli.reading.markup_hint import note_markup


@sketched
def explain(
    a: Annotated[str, typer.Argument(metavar="A", help="A file or -; with --db an id.")],
    sketch: Given,
    b: Annotated[
        str | None, typer.Argument(metavar="B", help="Another file or -; with --db an id.")
    ] = None,
    db: Annotated[
        str | None, typer.Option(metavar="DB", help="Of documents in the database DB.")
    ] = None,
    document: Annotated[
        str | None, typer.Option(metavar="FILE", help="Instead of B: a file, or -, beside an id.")
    ] = None,
    similarity: arguments.Similarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    method: arguments.Method = None,
    features: Annotated[int, typer.Option(min=0, help="List at most so many features.")] = 20,
    int_ids: arguments.IntIds = False,
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Explain why two documents match or do not: bits, weights, tables, and features of texts.

    Exit code 0 whether they match or not.
    """
    decoded_as = known_encoding(encoding)
    arguments.check_errors(errors)
    if db is None:
        if b is None or document is not None or (a, b) == (STANDARD_INPUT, STANDARD_INPUT):
            raise simdb.OptionError("explain takes two files, one of which may be -; or use --db")
        left, right = (read_file(path, decoded_as, errors) for path in (a, b))
        made = make_sketch(sketch)
        note_markup([(a, left), (b, right)], made)
        found = simdb.explain(left, right, made, similarity=similarity, distance=distance)
        print_explanation(found, (a, b), features, as_json=json)
        return
    if (b is None) == (document is None):
        raise simdb.OptionError("explain with --db takes A and one of B and --document")
    ids = arguments.given_ids([a] if b is None else [a, b], int_ids)
    with simdb.open(db, "r", allow=allowed(sketch, allow)) as database:
        check_given(sketch, database.options.sketch, db)
        text = None
        if document is not None:
            text = read_file(document, decoded_as, errors)
            note_markup([(document, text)], database.options.sketch)
        found = database.explain(
            *ids, document=text, similarity=similarity, distance=distance, recall=recall,
            method=method, errors=errors,
        )  # fmt: skip
    print_explanation(found, (a, b or document or ""), features, as_json=json)
