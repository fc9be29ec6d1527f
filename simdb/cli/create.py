"""Command create: makes an empty database with given options."""

from typing import Annotated, Any

import simdb
from simdb.cli.options import arguments
from simdb.cli.options.arguments import Database, Json
from simdb.cli.options.declare import Option
from simdb.cli.options.sketch_options import MINHASH, Given, make_sketch, sketched
from simdb.cli.output.render import print_one

OPTIONS = simdb.Options()


@sketched
def create(
    db: Database,
    sketch: Given,
    volatility: Annotated[
        bool | None,
        Option(
            "--volatility/--no-volatility",
            help="Store the weights of documents (default); without, match by distance only.",
        ),
    ] = None,
    blocks: arguments.Blocks = None,
    leading: arguments.Leading = None,
    bands: arguments.Bands = None,
    rows: arguments.Rows = None,
    polytopes: arguments.Polytopes = None,
    similarity: Annotated[
        float | None,
        Option(
            help="Default similarity of a match. If not given: 0.889; 0.909 for single words"
            " weighted by tf-idf; 0.8 with --minhash."
        ),
    ] = None,
    distance: Annotated[
        int | None,
        Option(
            help="Default distance of a match for fingerprints without weights. If not given: 3."
        ),
    ] = None,
    recall: Annotated[
        float, Option(help="Default share of the matches that a search must find.")
    ] = OPTIONS.recall,
    header_offset: Annotated[
        int,
        Option(help="Bits of the table headers: log2 of the documents, plus this number."),
    ] = OPTIONS.header_offset,
    keep_clusters: arguments.KeepClusters = OPTIONS.keep_clusters,
    keep_times: arguments.KeepTimes = OPTIONS.keep_times,
    passages: arguments.Passages = OPTIONS.passages,
    features: arguments.Features = OPTIONS.features,
    json: Json = False,
) -> None:
    """Create an empty database; its options are stored with it and cannot be changed."""
    stored = _stored_weights(volatility, is_minhash=MINHASH in sketch)
    shape = {
        "blocks": blocks, "leading": leading, "bands": bands, "rows": rows, "distance": distance,
        "similarity": similarity, "polytopes": polytopes,
    }  # fmt: skip
    given: dict[str, Any] = {name: each for name, each in shape.items() if each is not None}
    options = simdb.Options(
        sketch=make_sketch(sketch | stored), recall=recall, header_offset=header_offset,
        keep_clusters=keep_clusters, keep_times=keep_times, passages=passages, features=features,
        **given,
    )  # fmt: skip
    with simdb.open(db, "x", options=options) as database:
        print_one({"path": db, "options": database.stats().options}, as_json=json)


def _stored_weights(volatility: bool | None, *, is_minhash: bool) -> dict[str, bool]:
    """Return the setting of a sketch that --volatility means, if it was given."""
    if volatility is None:
        return {}
    if is_minhash:
        raise simdb.OptionError(
            "--volatility and --no-volatility work only with fingerprints; leave them or --minhash"
            " out"
        )
    return {"store_volatility": volatility}
