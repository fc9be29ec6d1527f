"""Kinds of sketches: the sketcher of a database, for fingerprints or for MinHash signatures."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeAlias

from simdb import sketch as room
from simdb.settings.minhash import Minhash
from simdb.settings.options import Simhash
from simdb.settings.stored_options import Resources
from simdb.sketch.sketcher import Sketcher

if TYPE_CHECKING:
    from simdb.sketch.minhash_sketcher import MinHashSketcher

    AnySketcher: TypeAlias = Sketcher | MinHashSketcher
else:
    AnySketcher = Any


def sketcher_of(
    sketch: Simhash | Minhash, resources: Resources, allowed: Collection[str]
) -> AnySketcher:
    """Return the sketcher for `sketch`, the options of a database; arguments as of `Sketcher`."""
    if isinstance(sketch, Minhash):
        return room.minhash_sketcher.MinHashSketcher(sketch, resources, allowed)
    return Sketcher(sketch, resources, allowed)
