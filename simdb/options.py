"""Settings of a database: validated once, stored when it is created, compared when it is opened.

Everything that changes a fingerprint or what is on disk stands here.  How a process opens the
database (durability, largest size, waiting time) is not stored and belongs to `simdb.open`.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from simdb.bits import FINGERPRINT_BITS
from simdb.errors import FormatError, OptionError

UNITS = ("words", "characters")
NORMALISATIONS = ("none", "nfkc")
WEIGHTINGS = ("tf",)
DIMENSIONS = (64, 128)
METHODS = ("auto", "exhaustive", "bphs")
SHINGLE_MAX = 64
TABLES_MAX = 64  # C(8, 4) = 70 is already past any use


@dataclass(frozen=True, slots=True, kw_only=True)
class Simhash:
    """How a document becomes 64 bits and a volatility vector (Sood & Loguinov 2011, section 3).

    `unit`: "words" (Unicode words; each CJK character is one) or "characters".  `shingle`: how
    many consecutive tokens make a feature.  `weighting`: "tf", each occurrence counts 1.
    `lowercase` and `normalisation` ("none", "nfkc") apply to text before it is cut.  `seed` of
    the feature hash.  `dimensions` of the volatility vector, 4 bits each: 128 or 64.
    `store_volatility`: keep the vectors; without them there is no `similarity=`.
    """

    unit: str = "words"
    shingle: int = 3
    weighting: str = "tf"
    lowercase: bool = True
    normalisation: str = "none"
    seed: int = 0
    dimensions: int = 128
    store_volatility: bool = True

    def __post_init__(self) -> None:
        """Raise OptionError for a value that cannot be."""
        _one_of("unit", self.unit, UNITS)
        _whole("shingle", self.shingle, 1, SHINGLE_MAX)
        _one_of("weighting", self.weighting, WEIGHTINGS)
        _flag("lowercase", self.lowercase)
        _one_of("normalisation", self.normalisation, NORMALISATIONS)
        _whole("seed", self.seed, 0, 2**32 - 1)
        _one_of("dimensions", self.dimensions, DIMENSIONS)
        _flag("store_volatility", self.store_volatility)

    @property
    def vector_bytes(self) -> int:
        """Stored bytes of one volatility vector."""
        return self.dimensions // 2 if self.store_volatility else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a database.

    `sketch`: from document to fingerprint.  `blocks`, `leading`: one sorted table for each of the
    C(`blocks`, `leading`) choices of leading blocks; any distance up to `blocks - leading` needs
    one look-up in each.  `similarity`, `distance`, `recall`: what a query asks for when it does
    not say.  `delta_documents`: how many recent documents are searched one by one before they are
    sealed into a run.  `growth`: a run is merged into the one before it unless that is at least
    so many times larger; larger means fewer runs (faster queries) and more rewriting.
    """

    sketch: Simhash = field(default_factory=Simhash)
    blocks: int = 4
    leading: int = 1
    similarity: float = 0.88
    distance: int = 3
    recall: float = 0.95
    delta_documents: int = 4096
    growth: int = 8

    def __post_init__(self) -> None:
        """Raise OptionError for a value that cannot be."""
        if not isinstance(self.sketch, Simhash):
            raise OptionError(f"sketch is a simdb.Simhash, not {type(self.sketch).__name__}")
        _whole("blocks", self.blocks, 1, FINGERPRINT_BITS)
        _whole("leading", self.leading, 1, self.blocks)
        if self.table_count > TABLES_MAX:
            raise OptionError(
                f"blocks={self.blocks}, leading={self.leading} make {self.table_count} tables;"
                f" at most {TABLES_MAX} are kept: choose fewer blocks, or leading nearer to 1"
            )
        _share("similarity", self.similarity)
        _whole("distance", self.distance, 0, FINGERPRINT_BITS)
        _share("recall", self.recall)
        _whole("delta_documents", self.delta_documents, 1, 2**20)
        _whole("growth", self.growth, 2, 1000)

    @property
    def table_count(self) -> int:
        """Number of block permutations."""
        return math.comb(self.blocks, self.leading)


def encode_options(options: Options) -> dict[str, Any]:
    """Plain types only, for storing."""
    return asdict(options)


def decode_options(stored: Mapping[str, Any]) -> Options:
    """The opposite; an option that this version does not know is a FormatError."""
    names = {each.name for each in fields(Options)}
    sketch_names = {each.name for each in fields(Simhash)}
    unknown = (set(stored) - names) | (set(stored.get("sketch", {})) - sketch_names)
    if unknown:
        raise FormatError(
            f"the database was made with options that this version does not know:"
            f" {', '.join(sorted(unknown))}; open it with a newer simdb"
        )
    settings = dict(stored)
    sketch = Simhash(**settings.pop("sketch", {}))
    return Options(sketch=sketch, **settings)


def check_same(stored: Options, wanted: Options, where: str) -> None:
    """Raise OptionError naming each option in which `wanted` differs from `stored`."""
    differing = [
        f"{name} is {old!r}, not {new!r}"
        for name, old, new in _flat_pairs(stored, wanted)
        if old != new
    ]
    if differing:
        raise OptionError(
            f"{where} was created with other options: {'; '.join(differing)}."
            " Open it without options=, or create another database"
        )


def _flat_pairs(left: Options, right: Options) -> list[tuple[str, Any, Any]]:
    """(name, left's value, right's value) of every option, the sketch's own ones spelled out."""
    pairs = []
    for each in fields(Options):
        old, new = getattr(left, each.name), getattr(right, each.name)
        if isinstance(old, Simhash) and isinstance(new, Simhash):
            pairs += [
                (f"sketch.{part.name}", getattr(old, part.name), getattr(new, part.name))
                for part in fields(Simhash)
            ]
        else:
            pairs.append((each.name, old, new))
    return pairs


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise OptionError(f"{name} is one of {', '.join(map(repr, allowed))}, not {value!r}")


def _whole(name: str, value: Any, least: int, most: int) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise OptionError(f"{name} is a whole number from {least} to {most}, not {value!r}")


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name} is True or False, not {value!r}")


def _share(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1:
        raise OptionError(f"{name} is above 0 and at most 1, not {value!r}")
