"""Settings of a database: validated once, stored when it is created, compared when it is opened.

Everything that changes a fingerprint or what is on disk stands here.  How a process opens the
database (durability, largest size, waiting time) is not stored and belongs to `simdb.open`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from simdb.bits import FINGERPRINT_BITS
from simdb.decoding import a_map, expecting
from simdb.errors import FormatError, OptionError
from simdb.idf import IdfTable

UNITS = ("words", "characters", "whitespace", "moz")
NORMALISATIONS = ("none", "nfc", "nfkc")
MARKUPS = ("none", "html")
# How often a feature stands in a document counts as 1, as it is, or as 1 + ln of it; with "idf"
# that is multiplied by the weight of an `IdfTable`.
WEIGHTINGS = ("binary", "tf", "log-tf", "binary-idf", "tf-idf", "log-tf-idf")
DIMENSIONS = (64, 128)
KEPT = NOT_KEPT, BY_DISTANCE, BY_SIMILARITY = ("none", "distance", "similarity")
PROBING_METHODS = ("psm", "multiprobe")  # these go by the weights of a query
METHODS = ("auto", "exhaustive", "bphs", *PROBING_METHODS, "rotation")
FEATURE_OPTIONS = (
    "markup", "html_title", "html_links", "normalisation", "unit", "tokeniser", "lowercase",
    "stop_words", "stemming", "shingle", "seed",
)  # fmt: skip
SHINGLE_MAX = 64
VECTOR_LENGTH_MAX = 2**31 - 1
# Narrower headers take no quarter of a byte a document already, and point at 16 to 32 entries.
HEADER_OFFSET_LEAST = -4
TABLES_MAX = 64  # C(8, 4) = 70 is already past any use
# The thresholds that serve 15 collections best (docs/QUALITY.md): copies by the shingles they
# share, Jaccard .8; and tf-idf cosine .9 of single words.
USUAL_SIMILARITY = 0.88
TFIDF_SIMILARITY = 0.90
_OF_SKETCH: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simhash:
    """How a document becomes 64 bits and a volatility vector (Sood & Loguinov 2011, section 3).

    A text goes through these steps, each set by the options beside it:

    1. `markup`: "none", or "html": the visible text is taken, with the title unless `html_title`
       is False, and with the targets of links where `html_links` is True.
    2. `normalisation`: "none", "nfc" or "nfkc".
    3. `unit`: "words" (Unicode words; each CJK character is one), "characters" (white space
       folded), "whitespace" (what stands between white space) or "moz" (see `moz`); or
       `tokeniser`, the name "package.module:function" of a callable from str to a list of str,
       which `simdb.open` imports only if it is among those allowed.
    4. `lowercase`: by the one-to-one Unicode mapping.
    5. `stop_words`: a language ("english") or the words themselves: tokens to leave out.
    6. `stemming`: a language of Snowball, whose stems take the place of the tokens.
    7. `shingle`: how many consecutive tokens make a feature.
    8. `weighting`: what a feature of a document counts: "binary" 1, "tf" the number of times it
       stands there, "log-tf" 1 + ln of that; "binary-idf", "tf-idf" and "log-tf-idf" the same
       times its weight in `idf`, an `IdfTable`.

    A list of tokens enters at step 5.  `vector_length`: of dense or sparse vectors given as
    documents; 0 for any.  `seed` of the feature hash and of the projection of vectors.
    `dimensions` of the volatility vector, 4 bits each: 128 or 64.  `store_volatility`: keep the
    vectors; without them there is no `similarity=`.
    """

    markup: str = "none"
    html_title: bool = True
    html_links: bool = False
    normalisation: str = "none"
    unit: str = "words"
    tokeniser: str = ""
    lowercase: bool = True
    stop_words: str | tuple[str, ...] = ""
    stemming: str = ""
    shingle: int = 3
    weighting: str = "binary"
    idf: IdfTable | None = None
    vector_length: int = 0
    seed: int = 0
    dimensions: int = 128
    store_volatility: bool = True

    def __post_init__(self) -> None:
        """Raise OptionError for a value that cannot be."""
        _one_of("markup", self.markup, MARKUPS)
        _flag("html_title", self.html_title)
        _flag("html_links", self.html_links)
        _one_of("normalisation", self.normalisation, NORMALISATIONS)
        _one_of("unit", self.unit, UNITS)
        _callable_name("tokeniser", self.tokeniser)
        _flag("lowercase", self.lowercase)
        if not isinstance(self.stop_words, str):
            object.__setattr__(self, "stop_words", _words("stop_words", self.stop_words))
        _language("stemming", self.stemming)
        _whole("shingle", self.shingle, 1, SHINGLE_MAX)
        _one_of("weighting", self.weighting, WEIGHTINGS)
        _whole("vector_length", self.vector_length, 0, VECTOR_LENGTH_MAX)
        _whole("seed", self.seed, 0, 2**32 - 1)
        _one_of("dimensions", self.dimensions, DIMENSIONS)
        _flag("store_volatility", self.store_volatility)
        self._check_together()

    @classmethod
    def paper(cls, idf: IdfTable | None = None, *, language: str = "english") -> "Simhash":
        """The setting of Sood & Loguinov 2011, section 6: words without stop words, stemmed.

        Weights are TF-IDF and hashes 64-bit Murmur.  `idf`: a table made by
        `simdb.fit_idf(documents, simdb.Simhash.paper())`; nothing can be sketched without one.
        """
        return cls(shingle=1, stop_words=language, stemming=language, weighting="tf-idf", idf=idf)

    @classmethod
    def moz(cls, *, window: int = 3) -> "Simhash":
        """The fingerprint of simhash-cpp, bit for bit: to go on with an old corpus of them.

        Tokens are the longest sequences of ASCII letters, as they are written; everything else
        separates them, letters with accents too, and a U+0000 ends the text.  Each has the hash
        of Jenkins' lookup3 with seed 0.  A feature is a cyclic hash over `window` tokens, one for
        each token, the first ones over fewer.  A bit is set where more than half of the features
        have it, no features give no bits, and the bits stand in reverse order, as simhash-cpp has
        them from its first version on (3 is its only window; docs/ALGORITHMS.md says which of its
        versions differ).  Weights are nudged where a bit is a tie, so that 0 never stands for one.
        """
        return cls(unit="moz", shingle=window, weighting="tf", lowercase=False, dimensions=64)

    @property
    def vector_bytes(self) -> int:
        """Stored bytes of one volatility vector."""
        return self.dimensions // 2 if self.store_volatility else 0

    @property
    def uses_idf(self) -> bool:
        """Whether features are weighted by an IDF table."""
        return self.weighting.endswith("idf")

    @property
    def usual_similarity(self) -> float:
        """What counts as similar where nobody says: 0.90 for single words by tf-idf, else 0.88."""
        is_tfidf = self.weighting == "tf-idf" and self.shingle == 1
        return TFIDF_SIMILARITY if is_tfidf else USUAL_SIMILARITY

    @property
    def python_steps(self) -> tuple[str, ...]:
        """Steps that run in Python, not in the kernel, in order.

        "markup", "normalisation" (of texts that are not ASCII), "tokeniser" and "stemming" (once
        for each distinct word).
        """
        is_used = {
            "markup": self.markup != "none",
            "normalisation": self.normalisation != "none",
            "tokeniser": bool(self.tokeniser),
            "stemming": bool(self.stemming),
        }
        return tuple(name for name, used in is_used.items() if used)

    @property
    def feature_settings(self) -> dict[str, Any]:
        """The options that decide what a feature is: all but the weights and what is stored."""
        return {name: getattr(self, name) for name in FEATURE_OPTIONS}

    def _check_together(self) -> None:
        is_cut = bool(self.tokeniser)
        if is_cut and self.unit != "words":
            raise OptionError(f"unit={self.unit!r} has no meaning beside a tokeniser; leave it out")
        has_words = self.unit in ("words", "whitespace")
        for name in ("stop_words", "stemming"):
            if getattr(self, name) and not has_words:
                raise OptionError(f"{name} need words, but unit is {self.unit!r}")
        if self.unit == "moz" and (self.weighting != "tf" or self.dimensions != 64):
            raise OptionError("unit='moz' has weighting='tf' and dimensions=64 only")
        if self.unit == "moz" and (self.lowercase or self.seed):
            raise OptionError("unit='moz' has lowercase=False and seed=0 only; use Simhash.moz()")
        if self.idf is not None:
            self._check_idf(self.idf)

    def _check_idf(self, idf: IdfTable) -> None:
        if not isinstance(idf, IdfTable):
            raise OptionError(
                f"idf is an IdfTable, as simdb.fit_idf makes, not {type(idf).__name__}"
            )
        if not self.uses_idf:
            raise OptionError(f"weighting={self.weighting!r} takes no idf; use 'tf-idf'")
        differing = [
            f"{name} was {idf.settings.get(name)!r}, not {value!r}"
            for name, value in self.feature_settings.items()
            if idf.settings.get(name) != value
        ]
        if differing:
            raise OptionError(
                f"the IDF table was fitted with other options: {'; '.join(differing)}; fit one"
                " with simdb.fit_idf(documents, sketch)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a database.

    `sketch`: from document to fingerprint.  `blocks`, `leading`: one sorted table for each of the
    C(`blocks`, `leading`) choices of leading blocks; any distance up to `blocks - leading` needs
    one look-up in each.  `similarity`, `distance`, `recall`: what a query asks for when it does
    not say; the similarity is that of the sketch (`Simhash.usual_similarity`) where none is given.
    `delta_documents`: how many recent documents are searched one by one before they are
    sealed into a run.  `growth`: a run is merged into the one before it unless that is at least
    so many times larger; larger means fewer runs (faster queries) and more rewriting.
    `header_offset`, from -4 to 0: headers of n documents have floor(log2 n) + `header_offset` bits;
    one more doubles their memory, 4 bytes each, and halves what a look-up compares.
    `keep_clusters`: "distance" or "similarity" keeps the connected clusters under the default of
    that name up to date with every commit, for `cluster` and `find_clusters`.
    """

    sketch: Simhash = field(default_factory=Simhash)
    blocks: int = 4
    leading: int = 1
    similarity: float = _OF_SKETCH
    distance: int = 3
    recall: float = 0.95
    delta_documents: int = 4096
    growth: int = 8
    header_offset: int = -1
    keep_clusters: str = NOT_KEPT

    def __post_init__(self) -> None:
        """Raise OptionError for a value that cannot be."""
        if not isinstance(self.sketch, Simhash):
            raise OptionError(f"sketch is a simdb.Simhash, not {type(self.sketch).__name__}")
        if self.similarity is _OF_SKETCH:
            object.__setattr__(self, "similarity", self.sketch.usual_similarity)
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
        _whole("header_offset", self.header_offset, HEADER_OFFSET_LEAST, 0)
        _one_of("keep_clusters", self.keep_clusters, KEPT)
        if self.keep_clusters == BY_SIMILARITY and not self.sketch.store_volatility:
            raise OptionError(
                "keep_clusters='similarity' needs Simhash(store_volatility=True), whose vectors"
                " measure it; or keep them by 'distance'"
            )

    @property
    def table_count(self) -> int:
        """Number of block permutations."""
        return math.comb(self.blocks, self.leading)

    @property
    def keeps_clusters(self) -> bool:
        """Whether clusters are kept."""
        return self.keep_clusters != NOT_KEPT


def encode_options(options: Options, idf: Any = None) -> dict[str, Any]:
    """Plain types only, for storing; `idf` stands in the place of the sketch's IDF table.

    What was not asked for and is younger than the format is left out: older versions read it.
    """
    bare = replace(options, sketch=replace(options.sketch, idf=None))
    encoded = asdict(bare)
    encoded["sketch"]["idf"] = idf
    if not options.keeps_clusters:
        del encoded["keep_clusters"]
    return encoded


def decode_options(stored: Mapping[str, Any], idf: IdfTable | None = None) -> Options:
    """The opposite; an option that this version does not know is a FormatError."""
    with expecting("the options of the database"):
        return _decoded_options(a_map(stored), idf)


def _decoded_options(stored: Mapping[str, Any], idf: IdfTable | None) -> Options:
    names = {each.name for each in fields(Options)}
    sketch_names = {each.name for each in fields(Simhash)}
    unknown = (set(stored) - names) | (set(a_map(stored.get("sketch", {}))) - sketch_names)
    if unknown:
        raise FormatError(
            f"the database was made with options that this version does not know:"
            f" {', '.join(sorted(unknown))}; open it with a newer simdb"
        )
    settings = dict(stored)
    sketch = Simhash(**{**settings.pop("sketch", {}), "idf": idf})
    return Options(sketch=sketch, **settings)


def decode_settings(stored: Any, where: str) -> dict[str, Any]:
    """Stored `feature_settings`; those that were not stored yet have their defaults."""
    with expecting(f"what {where} says of its features"):
        return _decoded_settings(a_map(stored), where)


def _decoded_settings(stored: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = Simhash().feature_settings
    unknown = set(stored) - set(known)
    if unknown:
        raise FormatError(
            f"{where} was made with options that this version does not know:"
            f" {', '.join(sorted(map(str, unknown)))}; use a newer simdb"
        )
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    return {**known, **stored, **lists}


def check_same(stored: Options, wanted: Options, where: str) -> None:
    """Raise OptionError naming each option in which `wanted` differs from `stored`.

    A sketch without an IDF table means the stored one.
    """
    differing = [
        f"{name} is {old!r}, not {new!r}"
        for name, old, new in _flat_pairs(stored, wanted)
        if old != new and not (name == "sketch.idf" and new is None)
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


def _callable_name(name: str, value: Any) -> None:
    module, _, function = value.partition(":") if isinstance(value, str) else ("", "", "")
    is_named = all(part.isidentifier() for part in (*module.split("."), function))
    if value != "" and not is_named:
        raise OptionError(f"{name} is a name like 'package.module:function', not {value!r}")


def _words(name: str, value: Any) -> tuple[str, ...]:
    is_many = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)
    words = tuple(value) if is_many else (None,)
    if not all(isinstance(word, str) and word for word in words):
        raise OptionError(f"{name} is a language or a list of words, not {value!r}")
    return tuple(sorted(set(words)))


def _language(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise OptionError(f"{name} is the name of a language or '', not {value!r}")


def _share(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1:
        raise OptionError(f"{name} is above 0 and at most 1, not {value!r}")
