"""Command query: shows the stored documents that match one document."""

from typing import Annotated, Any

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.condition import given_condition
from simdb.cli.options.declare import Argument, Option
from simdb.cli.options.door import open_either
from simdb.cli.options.match_options import given_search
from simdb.cli.output.render import is_table, match_row, print_note, print_rows
from simdb.cli.reading.markup_hint import note_markup
from simdb.sources.content import STANDARD_INPUT, known_encoding, read_file


def query(
    db: arguments.Database,
    text: Annotated[
        str | None, Argument(metavar="TEXT", help="The text; - reads standard input.")
    ] = None,
    file: Annotated[
        str | None, Option(metavar="FILE", help="A file with the text; - is standard input.")
    ] = None,
    id: Annotated[str | None, Option(metavar="ID", help="The id of a stored document.")] = None,
    fingerprint: Annotated[
        str | None, Option(metavar="N", help="A fingerprint, decimal or 0x...")
    ] = None,
    similarity: arguments.Similarity = None,
    distance: arguments.Distance = None,
    recall: arguments.Recall = None,
    search: arguments.Search = None,
    limit: Annotated[int | None, Option(help="Show only this many matches, the best.")] = None,
    nearest: Annotated[
        int | None,
        Option(metavar="K", help="Show the K nearest documents, however similar they are."),
    ] = None,
    where: arguments.Where = None,
    int_ids: arguments.IntIds = False,
    encoding: arguments.Encoding = "utf-8",
    errors: arguments.Errors = "strict",
    allow: arguments.Allow = None,
    json: arguments.Json = False,
) -> None:
    """Show the stored documents that match a text, a file, a stored document or a fingerprint.

    The best match comes first.  --nearest shows the most similar documents even if they do not
    match, --where only documents whose metadata have a value.  Exit code 0 whether there are
    matches or not.
    """
    if [text, file, id, fingerprint].count(None) != 3:
        raise simdb.OptionError(
            "query needs exactly one of TEXT, -, --file, --id and --fingerprint"
        )
    if nearest is not None:
        _check_alone(similarity=similarity, distance=distance, search=search, limit=limit)
    document = _document(text, file, fingerprint, encoding, errors)
    wanted = None if id is None else arguments.given_ids([id], int_ids)[0]
    filters: dict[str, Any] = {} if where is None else {"where": given_condition(where)}
    with open_either(db, allow or []) as database:
        if isinstance(document, str):
            note_markup([(file or "the text", document)], database.options.sketch)
        if nearest is not None:
            found = database.nearest(
                document, nearest, id=wanted, recall=recall, errors=errors, **filters
            )
        else:
            found = database.query(
                document, id=wanted, similarity=similarity, distance=distance, recall=recall,
                search=given_search(search), limit=limit, errors=errors, **filters,
            )  # fmt: skip
    count = print_rows(map(match_row, found), ("id", "distance", "similarity"), as_json=json)
    if not count and is_table(json):
        print_note("no match")


def _document(
    text: str | None, file: str | None, fingerprint: str | None, encoding: str, errors: str
) -> str | int | None:
    """Return the text or the fingerprint that was given; None for a stored document."""
    decoded_as = known_encoding(encoding)
    arguments.check_errors(errors)
    if fingerprint is not None:
        return arguments.given_bits(fingerprint)
    if text == STANDARD_INPUT or file is not None:
        return read_file(file or STANDARD_INPUT, decoded_as, errors)
    return text


def _check_alone(**given: object) -> None:
    """Raise OptionError if an option is given that --nearest does not have."""
    for name, value in given.items():
        if value is not None:
            raise simdb.OptionError(
                f"--{name} does not apply to --nearest, which shows K documents whatever their"
                " similarity; leave out one of the two"
            )
