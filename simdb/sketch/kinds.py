"""What makes the sketches of a database, by the kind that its options name."""

from collections.abc import Collection

from simdb.minhash import Minhash
from simdb.options import Simhash
from simdb.resources import Resources
from simdb.sketch.minhash_sketcher import SignatureSketcher
from simdb.sketch.sketcher import Sketcher

AnySketcher = Sketcher | SignatureSketcher


def sketcher_of(
    sketch: Simhash | Minhash, resources: Resources, allowed: Collection[str]
) -> AnySketcher:
    """A sketcher for documents of a database; see `Sketcher`."""
    if isinstance(sketch, Minhash):
        return SignatureSketcher(sketch, resources, allowed)
    return Sketcher(sketch, resources, allowed)
