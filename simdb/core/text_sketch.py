"""Text sketches: the steps from a document to weighed features, which all sketches share.

An *IDF table* has the weights of features: the rarer a feature, the larger its weight.  A feature
of df among N documents weighs ln((1 + N) / (1 + df)) + 1.  A table is fitted once and never
changes, since otherwise older and newer fingerprints would not agree.  A feature that is not in the
table weighs as if one document had it, so features with df = 1 are not stored.

A table is one sorted column that is read in place, so that a look-up touches one cache line:

    entries uint64[n]: the feature's hash, its 16 lowest bits replaced by its weight
    directory uint32[2**t + 1]: the first entry with each value of the t highest bits

Weights are whole numbers of `WEIGHT_UNIT`, so sums of them are exact in any order.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from simdb.core import choices
from simdb.core.bits import ALL_BITS
from simdb.core.checks import (
    callable_name,
    chosen_words,
    is_whole,
    language,
    one_of,
    shown,
    tag_weights,
    whole,
    words,
)
from simdb.core.errors import OptionError
from simdb.core.values import dataclass, field, fields

WEIGHT_UNIT = 1 / 1024
WEIGHT_BITS = 16
WEIGHT_MASK = (1 << WEIGHT_BITS) - 1
SLOT_ENTRIES = 4  # mean number for each slot of the directory; a cache line holds 8
UNITS = get_args(choices.UnitName)
NONE, NFC, NFKC, LENIENT = ("none", "nfc", "nfkc", "lenient")
# The scripts that are cut by character.  The default is the IDF table's choice, or the first.
SPACELESS, CJK = ("spaceless", "cjk")
FEATURE_OPTIONS = (
    "markup", "html_title", "html_links", "html_weights", "normalisation", "marks", "clean", "unit",
    "by_character", "tokeniser", "lowercase", "turkic_case", "stop_words", "stemming", "shingle",
    "edition", "seed",
)  # fmt: skip
EDITION = 2  # the newest
SHINGLE_MAX = 64
# Tokens whose hashes show whether two hash functions are the same.
CHECKED = (b"a", b"token", "\u00fc".encode())
CHECK = re.compile("[0-9a-f]{48}")
# The values of these options for data of earlier versions, which did not have them.
EARLIER: dict[str, Any] = {
    "html_weights": (), "marks": "keep", "clean": False, "turkic_case": False, "edition": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TokenHash:
    """A user's hash function for tokens; functions with the same `check` are equal.

    `check`: the hashes of three tokens in hexadecimal digits, which a database stores.  `function`:
    takes bytes and returns int; None if only the check is known.
    """

    check: str
    function: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, given: Any) -> "TokenHash":
        """Make it from a function or from a stored check; raise OptionError for anything else."""
        if isinstance(given, cls):
            return given
        if isinstance(given, str) and CHECK.fullmatch(given):
            return cls(given)
        if not callable(given):
            raise OptionError(f"hash must be a function from bytes to int, got {shown(given)}")
        checks = {"".join(f"{cls('', given)(token):016x}" for token in CHECKED) for _ in range(2)}
        if len(checks) > 1:
            raise OptionError(
                f"hash must return the same number for the same token, but {shown(given)} does not"
            )
        return cls(checks.pop(), given)

    def __call__(self, token: bytes) -> int:
        """Return the hash of a token.

        Raises OptionError without a function or for a wrong result.
        """
        if self.function is None:
            raise OptionError(
                "fingerprints were made with a hash function of yours, which a database does not"
                " store; give it again, options=simdb.Options(sketch=simdb.Simhash(hash=...)), or"
                " use fingerprints that simdb.fingerprints has made with it"
            )
        value = self.function(token)
        if not is_whole(value, 0, ALL_BITS):
            raise OptionError(
                f"hash= must return a whole number from 0 to 2**64 - 1, got {shown(value)} for the"
                f" token {shown(token)}"
            )
        return int(value)


def idf_weight(document_count: int, frequency: int) -> int:
    """Compute the weight, in units, of a feature in `frequency` of `document_count` documents."""
    return round((math.log((1 + document_count) / (1 + frequency)) + 1) / WEIGHT_UNIT)


@dataclass(frozen=True, slots=True, eq=False)
class IdfTable:
    """A frozen table of inverse document frequencies; made by `simdb.fit_idf`.

    Attributes
    ----------
    entries : ndarray
        Hashes and weights of the features, sorted: uint64[n].
    directory : ndarray
        The directory of the entries, uint32[2**t + 1].
    default : int
        Weight, in units of 1/1024, of a feature that is not in the table.
    document_count : int
        Number of documents to which the table was fitted.
    settings : mapping
        The options that define a feature.  A sketch that uses the table must have the same.
    """

    entries: npt.NDArray[np.uint64]
    directory: npt.NDArray[np.uint32]
    default: int
    document_count: int
    settings: Mapping[str, Any]

    def __len__(self) -> int:
        """Count the features in the table."""
        return len(self.entries)

    @property
    def size_bytes(self) -> int:
        """Number of bytes of the entries and the directory."""
        return self.entries.nbytes + self.directory.nbytes

    def __eq__(self, other: object) -> bool:
        """Return whether both tables give every feature the same weight."""
        if not isinstance(other, IdfTable):
            return NotImplemented
        same = self.default == other.default and dict(self.settings) == dict(other.settings)
        return same and bool(np.array_equal(self.entries, other.entries))

    def __hash__(self) -> int:
        """Hash the size and the default weight."""
        return hash((len(self.entries), self.default, self.document_count))

    def __repr__(self) -> str:
        """Describe the table by its size."""
        return f"<IdfTable of {len(self)} features of {self.document_count} documents>"

    def weights(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Look up the weights of features.

        Parameters
        ----------
        hashes : ndarray
            Hashes of features, uint64[n].

        Returns
        -------
        ndarray
            The weight ln((1 + N) / (1 + df)) + 1 of each feature, to 1/1024: float32[n].  The
            feature occurs in df of N documents.  A feature that is not in the table has the weight
            `default`.
        """
        tags = hashes >> np.uint64(WEIGHT_BITS)
        at = np.searchsorted(self.entries >> np.uint64(WEIGHT_BITS), tags)
        at = np.minimum(at, max(0, len(self.entries) - 1))
        units = np.full(len(hashes), self.default, np.uint64)
        if len(self.entries):
            found = self.entries[at]
            is_there = found >> np.uint64(WEIGHT_BITS) == tags
            units[is_there] = found[is_there] & np.uint64(WEIGHT_MASK)
        return (units * WEIGHT_UNIT).astype(np.float32)


def directory_bits(count: int) -> int:
    """Compute t, the bits of the directory of a table of `count` features."""
    return max(0, (count // SLOT_ENTRIES).bit_length())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TextSketch:
    """The options that turn texts and lists of tokens into features with weights.

    A text goes through the eight steps of Notes.  A list of tokens begins at step 5, stop words.

    Parameters
    ----------
    markup : {"none", "html"}, default "none"
        With "html", documents are pages of HTML, and only their visible text counts.
    html_title : bool, default True
        Whether that text includes the title of the page.
    html_links : bool, default False
        Whether that text includes the targets of links.
    html_weights : dict or tuple of str, optional
        Number of times that the text of an element counts: {"title": 3, "h1": 2} or ("h1=2",
        "title=3").  It needs markup="html" and a weighting that counts occurrences, such as "tf"
        (Biswas 2017; Sood & Loguinov 2011, section 3.1).
    normalisation : {"none", "nfc", "nfkc", "lenient"}, default "nfc"
        The Unicode form (UAX #15).  "nfkc" also makes full width, ligatures and other forms of one
        character equal.  "lenient" is "nfkc" with marks="drop", and makes look-alikes equal; see
        Notes.
    marks : {"keep", "drop"}, default "keep"
        With "drop", accents and points (Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac) and the
        tatweel are removed.
    clean : bool, default True
        Whether to remove invisible characters, and join words that a hyphen divides at the end of
        a line; see Notes.
    unit : {"words", "characters", "whitespace", "moz"}, default "words"
        How texts are cut: into Unicode words, into characters (white space is folded), or into text
        between white space.  "moz" is only for `Simhash.moz`.
    by_character : {"spaceless", "cjk"}, optional
        Only with unit="words": the scripts in which each character is a token.  "cjk" means kana,
        Han and Hangul.  "spaceless" adds all other scripts without spaces between words, such as
        Thai, Lao, Khmer, Burmese, Tibetan and Javanese, by the properties of Unicode 18.  If not
        given, the choice of the `idf` table applies, or else "spaceless".
    tokeniser : str, optional
        Instead of a unit: the name "package.module:function" of a function that takes a str and
        returns a list of str.  `simdb.open` imports it only if `allow` names it.
    lowercase : bool, default True
        Whether case is folded, by the one-to-one Unicode mapping.  With `clean`, final sigma, sharp
        s and ss, and ligatures are folded as well, which need full case folding.
    turkic_case : bool, default False
        Whether I is the capital of the dotless i, as in Turkish and Azerbaijani.  It needs `clean`
        and `lowercase`.
    stop_words : str or tuple of str, optional
        Tokens to drop: a language ("english"), or the words themselves.
    stemming : str, optional
        A language of Snowball, whose stems replace the tokens.
    shingle : int, default 3
        Number of consecutive tokens in a feature, 1 to 64.
    weighting : str, optional
        The weight of a feature in a document; see `Simhash` and `Minhash`, which differ.
    idf : IdfTable, optional
        A table of weights of features, for weightings that need it.
    edition : {0, 1, 2}, default 0
        The edition of the rules of `normalisation` and `clean`.  Edition 2 is the newest.  Edition
        1, of simdb 0.2, keeps look-alikes and the control characters of PDF and Word.  Databases
        and IDF tables of that version keep it.  Zero means the edition of the `idf` table, or else
        the newest.
    seed : int, default 0
        The seed of the feature hash, below 2**32.

    Raises
    ------
    OptionError
        If a value is impossible, or contradicts another one.

    Notes
    -----
    The steps, each with its options:

    1. Markup: `markup`, `html_title`, `html_links`, `html_weights`.
    2. Characters: `normalisation`, `clean`, `marks`, `edition`.
    3. Tokens: `unit`, `by_character` or `tokeniser`.
    4. Case: `lowercase`, `turkic_case`.
    5. Stop words: `stop_words`.
    6. Stems: `stemming`.
    7. Features: `shingle`.
    8. Weights: `weighting`, `idf`.

    `clean` removes invisible characters (Unicode's Default_Ignorable_Code_Point: soft hyphens,
    joiners, zero width spaces).  It also removes characters that PDF and Word leave inside words:
    control characters other than white space, and U+FFF9 to U+FFFC.  A word that a hyphen divides
    at the end of a line is joined if it continues with a lower-case letter.

    "lenient" makes these look-alikes equal:

    * Cyrillic, Greek and other letters in Latin words, and Latin letters in words of such scripts
      (UTS 39).
    * The yeh, kaf and heh of Persian and Arabic.
    * Digits of all scripts.
    * Entities of HTML, such as &#1072;, and their characters.
    """

    markup: choices.MarkupName = "none"
    html_title: bool = True
    html_links: bool = False
    html_weights: Mapping[str, int] | tuple[str, ...] = ()
    normalisation: choices.NormalisationName = "nfc"
    marks: choices.MarksName = "keep"
    clean: bool = True
    unit: choices.UnitName = "words"
    by_character: choices.ByCharacterName = ""
    tokeniser: str = ""
    lowercase: bool = True
    turkic_case: bool = False
    stop_words: str | tuple[str, ...] = ""
    stemming: str = ""
    shingle: int = 3
    weighting: str = ""
    idf: IdfTable | None = None
    edition: Literal[0, 1, 2] = 0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        self._check_steps()

    def __repr__(self) -> str:
        """Return the options that differ from the defaults."""
        differing = differing_options(self, type(self)())
        if not self.by_character:  # the unit is not "words"
            differing.pop("by_character", None)
        return written(self, differing)

    @property
    def uses_idf(self) -> bool:
        """Whether an IDF table gives features their weights."""
        return self.weighting.endswith("idf")

    @property
    def counting(self) -> str:
        """The count of a feature before IDF: "binary", "tf" or "log-tf"; see `weighting`."""
        return self.weighting.removesuffix("-idf")

    @property
    def cutting(self) -> str:
        """The kernel's name for the way to cut texts: the unit, or "spaceless"."""
        return self.by_character if self.by_character == SPACELESS else self.unit

    @property
    def python_steps(self) -> tuple[str, ...]:
        """The steps that run in Python instead of the kernel, in order.

        They are "markup", "normalisation" (for texts that are not ASCII), "tokeniser", "stemming"
        (once for each distinct word) and "hash".
        """
        is_used = {
            "markup": self.markup != "none",
            "normalisation": self.is_normalised_in_python,
            "tokeniser": bool(self.tokeniser),
            "stemming": bool(self.stemming),
            "hash": getattr(self, "hash", None) is not None,
        }
        return tuple(name for name, used in is_used.items() if used)

    @property
    def is_normalised_in_python(self) -> bool:
        """Whether Python normalises texts instead of the kernel."""
        is_changed = self.clean or self.normalisation != NONE
        return (
            self.marks == choices.DROP
            or self.normalisation == NFKC
            or (self.normalisation == NFC and not self.clean)
            or (bool(self.tokeniser) and is_changed)
        )

    @property
    def cuts_words(self) -> bool:
        """Whether texts are cut into Unicode words."""
        return self.unit == "words" and not self.tokeniser

    @property
    def feature_settings(self) -> dict[str, Any]:
        """The options that define a feature: all except weights and storage."""
        return {name: getattr(self, name) for name in FEATURE_OPTIONS}

    def _check_steps(self) -> None:
        """Raise OptionError for a step that is impossible or contradicts another."""
        chosen_words(self)
        self._check_html_weights()
        callable_name("tokeniser", self.tokeniser)
        self._check_by_table()
        if self.normalisation == LENIENT:
            if self.edition == 1:
                object.__setattr__(self, "normalisation", NFKC)
            object.__setattr__(self, "marks", choices.DROP)
        if self.turkic_case and not (self.clean and self.lowercase):
            raise OptionError("turkic_case= folds case; it needs clean=True and lowercase=True")
        if not isinstance(self.stop_words, str):
            object.__setattr__(self, "stop_words", words("stop_words", self.stop_words))
        language("stemming", self.stemming)
        whole("shingle", self.shingle, 1, SHINGLE_MAX)
        whole("seed", self.seed, 0, 2**32 - 1)
        if self.tokeniser and self.unit != "words":
            raise OptionError(f"unit={self.unit!r} does not apply to a tokeniser=; leave out unit=")
        has_words = self.unit in ("words", "whitespace")
        for name in ("stop_words", "stemming"):
            if getattr(self, name) and not has_words:
                raise OptionError(
                    f"{name}= needs unit='words' or 'whitespace', but unit is {self.unit!r}"
                )

    def _check_html_weights(self) -> None:
        """Set `html_weights` to words such as "h1=2", sorted, and check them."""
        given: Any = self.html_weights
        if isinstance(given, Mapping):
            given = [f"{tag}={weight}" for tag, weight in given.items()]
        object.__setattr__(self, "html_weights", tag_weights("html_weights", given))
        if self.html_weights and self.markup != "html":
            raise OptionError("html_weights= weighs elements of HTML; give markup='html', too")

    def _check_by_table(self) -> None:
        """Set `edition` and `by_character` ("" unless texts are cut into Unicode words)."""
        table = self.idf.settings if isinstance(self.idf, IdfTable) else {}
        chosen = self.by_character or table.get("by_character") or SPACELESS
        one_of("by_character", chosen, (SPACELESS, CJK))
        object.__setattr__(self, "by_character", chosen if self.cuts_words else "")
        object.__setattr__(self, "edition", self.edition or table.get("edition", EDITION))

    def _check_idf(self) -> None:
        """Raise OptionError unless the IDF table was fitted with the options of this sketch."""
        if self.idf is None:
            return
        if not isinstance(self.idf, IdfTable):
            raise OptionError(
                f"idf must be an IdfTable made by simdb.fit_idf, got {type(self.idf).__name__}"
            )
        if not self.uses_idf:
            raise OptionError(f"weighting={self.weighting!r} takes no idf; use 'tf-idf'")
        fitted = EARLIER | dict(self.idf.settings)
        differing = [
            f"{name} was {fitted.get(name)!r}, not {value!r}"
            for name, value in self.feature_settings.items()
            if fitted.get(name) != value
        ]
        if differing:
            raise OptionError(
                f"the IDF table was fitted with other options: {'; '.join(differing)}; fit one"
                " with simdb.fit_idf(documents, sketch)"
            )


def differing_options(options: Any, usual: Any) -> dict[str, Any]:
    """Return the options whose values differ from `usual`, in order."""
    every = {each.name: getattr(options, each.name) for each in fields(options)}
    return {name: each for name, each in every.items() if each != getattr(usual, name)}


def written(options: Any, values: Mapping[str, Any]) -> str:
    """Write the call that makes `options`, with the `values` that are not defaults."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"{type(options).__name__}({arguments})"


def threads_for(sketch: TextSketch, threads: int) -> int:
    """Return the number of threads that may sketch documents at a time: `threads` or 1.

    It is 1 with a tokeniser or a hash, since a user's function need not be safe for threads.
    """
    return threads if not {"tokeniser", "hash"} & set(sketch.python_steps) else 1
