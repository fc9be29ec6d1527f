"""The pipeline: the steps of a `TextSketch` from texts and tokens to weights or minima.

    markup, normalisation, tokeniser      in Python, if the options ask for them
    unit, case, stop words, stems, shingles, weighting      in the kernel

A step that needs an optional package loads it with the first text.  So a database can be opened
without the package, and can answer any query that brings no new text.  A new database stores the
stop words and the versions of packages, and later warns of other versions.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any, Protocol

import numpy as np

from simdb import sketch as modules
from simdb.core import kernel
from simdb.core.arrow import TextColumn, Texts
from simdb.core.checks import installed, is_one_of, shown
from simdb.core.cold import MadeOnce
from simdb.core.documents import Features, NamedFeatures
from simdb.core.dtypes import I64, U32, U64, Array
from simdb.core.errors import InputError, OptionError
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import IdfTable, TextSketch, TokenHash
from simdb.sketch.cutting import code_points, contents_of, cut
from simdb.sketch.normalisation import (
    Normalisation,
    Tokeniser,
    cleaned,
    cleaning_of,
    lower_cased,
    spelled,
)

Projected = tuple[Array, I64]  # weights, numbers of features
# Offsets, hashes and counts of distinct features.
Counted = tuple[I64, U64, U32]
# The number of parts of each text, the key of each part, and its number of words.
Parts = tuple[I64, U64, I64]
# Offsets and hashes of words.
Words = tuple[I64, U64]
Idf = tuple[U64, U32, int]  # entries, directory and default of an IDF table
Minima = tuple[U32, I64]  # minima, numbers of features
# A family of permutations of MinHash: its name, multipliers and increments.
Family = tuple[str, U64, U64]
Signing = tuple[Family, int]  # a family, and the bits of a feature
Stem = Callable[[list[str]], list[str]]

ERRORS = ("strict", "replace")
NO_RESOURCES = Resources()
# Names under which versions of packages are stored, and what depends on each version.
SNOWBALL = "Snowball"
PARSER = "selectolax"
CONCERNS = {SNOWBALL: "the stems of words", PARSER: "the text of HTML pages"}
REMEDY = "pip install snowballstemmer stop-words"
# If this module is installed, `snowballstemmer` returns its compiled stemmers.
COMPILED_STEMMERS = "Stemmer"


class Step(Protocol):
    """A step that converts documents."""

    def apply(self, documents: Sequence[Any], *, replace: bool, start: int) -> Sequence[Any]:
        """Return the documents after this step; error messages number them from `start`."""


class Pipeline:
    """A converter of texts and lists of tokens to weights, counted features or minima.

    Its methods take documents of one kind, "text" or "tokens"; error messages number documents from
    `start`.  With `replace`, invalid Unicode becomes U+FFFD instead of raising InputError.
    """

    def __init__(self, options: TextSketch, resources: Resources, allowed: Collection[Any]) -> None:
        """Convert documents by the steps of `options`.

        `resources`: the stop words and versions that a database has stored.  `allowed`: names of
        tokenisers that may be imported, and a `TokenHash` with its function.
        """
        self._options = options
        given = getattr(options, "hash", None)
        # Stored options have a hash without its function, which is given when a database is opened.
        self._hash: TokenHash | None = next((each for each in allowed if each == given), given)
        self._resources = resources
        self._allowed = frozenset(allowed)

    def prepare(self) -> None:
        """Load the packages that the steps need.

        Raises OptionError for a missing or forbidden one.
        """
        _ = self._steps, self._vocabulary

    def project(
        self, documents: Sequence[Any], kind: str, *, dimensions: int, replace: bool, start: int
    ) -> Projected:
        """Return the weights [n, dimensions] of documents and their numbers of features.

        `dimensions`: 128 or 256; always 128 for the unit "moz".
        """
        options = self._options
        documents, kind = self._stepped(documents, kind, replace, start)
        if options.unit == "moz":
            if kind == "tokens":
                raise InputError(
                    f"document {start} is a list of tokens, but unit='moz' takes only texts"
                )
            return kernel.project_moz(
                documents, window=options.shingle, replace=replace, start=start
            )
        project = kernel.project_tokens if kind == "tokens" else kernel.project_texts
        settings = self._settings(kind, replace, start)
        return project(
            documents,
            counting=options.counting,
            idf=self._kernel_idf,
            dimensions=dimensions,
            **settings,
        )

    def count(self, documents: Sequence[Any], kind: str, *, replace: bool, start: int) -> Counted:
        """Return offsets, hashes and counts of the distinct features; see `kernel.count_texts`."""
        documents, kind = self._stepped(documents, kind, replace, start)
        count = kernel.count_tokens if kind == "tokens" else kernel.count_texts
        return count(documents, **self._settings(kind, replace, start))

    def sign(
        self,
        documents: Sequence[Any],
        kind: str,
        *,
        family: Family,
        feature_bits: int,
        replace: bool,
        start: int,
    ) -> Minima:
        """Return the minima [n, p] of documents and their numbers of features."""
        documents, kind = self._stepped(documents, kind, replace, start)
        sign = kernel.sign_tokens if kind == "tokens" else kernel.sign_texts
        settings = self._settings(kind, replace, start)
        return sign(documents, family=family, feature_bits=feature_bits, **settings)

    def project_and_sign(
        self, texts: Any, dimensions: int, signing: Signing, *, replace: bool, start: int
    ) -> tuple[Any, I64, U32]:
        """Return the results of `project` and `sign` for texts that need no step in Python."""
        return kernel.project_and_sign_texts(
            texts, counting=self._options.counting, idf=self._kernel_idf, dimensions=dimensions,
            family=signing[0], feature_bits=signing[1], **self._settings("text", replace, start),
        )  # fmt: skip

    def visible(self, document: Any, kind: str) -> str:
        """Return the text of a document before cutting; tokens are joined with spaces."""
        if kind == "text" and not self._steps and document.isascii():
            return str(document)
        [made], kind = self._stepped([document], kind, True, 0)
        parts = made if kind == "tokens" else [made]
        shown = (part.decode(errors="replace") if type(part) is bytes else part for part in parts)
        return " ".join(cleaned(part, self._options) for part in shown)

    def words(self, texts: Texts, *, replace: bool, start: int, marked: bool = False) -> Words:
        """Return the hashes of the words of texts in order, without stop words or stems applied.

        Every step in Python must return texts.  `marked`: see `WordOrder`.
        """
        texts, _ = self._stepped(texts, "text", replace, start)
        settings = self._word_settings(replace, start)
        return kernel.hash_words(texts, marked=marked, **settings)

    def parts(self, texts: Texts, parts: str, *, replace: bool, start: int) -> Parts:
        """Cut original texts into parts, and hash their words; see `kernel.hash_parts`."""
        if not self._steps:
            settings = self._word_settings(replace, start)
            return kernel.hash_parts(texts, parts=parts, **settings)
        counts, pieces = np.zeros(len(texts), np.int64), []
        for at, text in enumerate(texts):
            bounds = kernel.part_bounds(text, parts).tolist()
            counts[at] = len(bounds)
            pieces += [text[begin:end] for begin, end, _ in bounds]
        try:
            offsets, words = self.words(pieces, replace=replace, start=0)
        except InputError:
            # The message must name the document instead of the part.
            self.words(texts, replace=replace, start=start)
            raise
        return counts, kernel.part_keys(offsets, words), np.diff(offsets)

    def fingerprinter(self, dimensions: int, width: int) -> kernel.TextFingerprinter | None:
        """Return the kernel's fingerprinter of one text at a time; None if a step is in Python.

        `width`: bytes of a volatility vector.
        """
        options = self._options
        if self._steps or options.unit == "moz" or self._hash is not None:
            return None
        return kernel.TextFingerprinter(
            counting=options.counting, idf=self._kernel_idf, dimensions=dimensions, width=width,
            **self._text_settings(),
        )  # fmt: skip

    def signer(
        self, *, family: Family, feature_bits: int, stored_bits: int
    ) -> kernel.TextSigner | None:
        """Return the kernel's signer of one text at a time; None if a step is in Python."""
        if self._steps:
            return None
        return kernel.TextSigner(
            family=family, feature_bits=feature_bits, stored_bits=stored_bits,
            **self._text_settings(),
        )  # fmt: skip

    def name(self, document: Any, kind: str, *, errors: str, at: int = 0) -> NamedFeatures:
        """Return the named features of one document; `at` is its number in messages."""
        options = self._options
        [cut_up], kind = self._stepped([document], kind, errors == "replace", at)
        if kind == "tokens":
            tokens = contents_of(cut_up, errors, at)
        elif options.unit == "moz":
            return modules.weighing.name_windows(code_points(cut_up, errors), options.shingle)
        else:
            codes = code_points(cleaned(cut_up, options), errors, at)
            tokens = cut(codes, options.cutting, options.lowercase)
        return modules.weighing.name_features(tokens, options, self._vocabulary, self._hash)

    def hashed(
        self, documents: Sequence[Any], kind: str, *, replace: bool, start: int
    ) -> Sequence[Features] | None:
        """Return documents as features if a user's function hashes tokens; otherwise None."""
        if self._hash is None:
            return None
        errors, every = "replace" if replace else "strict", enumerate(documents, start)
        named = (self.name(each, kind, errors=errors, at=at) for at, each in every)
        return [Features(each.hashes, each.weights.astype(np.float32)) for each in named]

    def _word_settings(self, replace: bool, start: int) -> dict[str, Any]:
        """Return the kernel's arguments for cutting texts into words."""
        options = self._options
        return {
            "unit": options.cutting, "lowercase": options.lowercase, "seed": options.seed,
            "replace": replace, "start": start, **cleaning_of(options),
        }  # fmt: skip

    def _settings(self, kind: str, replace: bool, start: int) -> dict[str, Any]:
        """Return the arguments that every kernel function for this kind takes."""
        settings = self._feature_settings() if kind == "tokens" else self._text_settings()
        return settings | {"replace": replace, "start": start}

    def _feature_settings(self) -> dict[str, Any]:
        """Return the kernel's arguments for making features of tokens."""
        options = self._options
        return {"shingle": options.shingle, "seed": options.seed, "vocabulary": self._vocabulary}

    def _text_settings(self) -> dict[str, Any]:
        """Return the kernel's arguments for making features of a text."""
        options = self._options
        return {
            "unit": options.cutting,
            "lowercase": options.lowercase,
            **self._feature_settings(),
            **cleaning_of(options),
        }

    @property
    def idf(self) -> IdfTable | None:
        """The IDF table; None without IDF.  Raises OptionError if it is needed but missing."""
        options = self._options
        if not options.uses_idf:
            return None
        if options.idf is None:
            raise OptionError(
                f"weighting={options.weighting!r} needs an IDF table; fit one with simdb.fit_idf,"
                " and pass it to the sketch (idf=) or to the empty database (set_idf)"
            )
        return options.idf

    @property
    def _kernel_idf(self) -> Idf | None:
        table = self.idf
        return None if table is None else (table.entries, table.directory, table.default)

    @MadeOnce
    def _steps(self) -> list[Step]:
        """The steps in Python that the options ask for, in order."""
        options = self._options
        steps: list[Step] = []
        if options.markup == "html":
            steps.append(modules.markup.Markup(options))
        if options.is_normalised_in_python:
            steps.append(Normalisation(options))
        if options.tokeniser:
            steps.append(Tokeniser(options.tokeniser, self._allowed, lowercase=options.lowercase))
        return steps

    @MadeOnce
    def _vocabulary(self) -> kernel.Vocabulary | None:
        """The stop words and stems for the kernel; None without them."""
        return make_vocabulary(self._options, self._resources)

    def _stepped(
        self, documents: Sequence[Any], kind: str, replace: bool, start: int
    ) -> tuple[Sequence[Any], str]:
        """Return the documents after the steps in Python, and their new kind."""
        if kind == "tokens":
            if not self._options.tokeniser:  # a tokeniser's tokens may have spaces
                _check_tokens(documents, start)
            return documents, kind
        for step in self._steps:
            documents = step.apply(documents, replace=replace, start=start)
        return documents, "tokens" if self._options.tokeniser else "text"


def check_errors(errors: str) -> None:
    """Raise InputError for an unknown value of `errors`."""
    if not is_one_of(errors, ERRORS):
        raise InputError(f"errors must be 'strict' or 'replace', not {shown(errors)}")


def stretches(
    documents: Sequence[Any], start: int, kind_of: Callable[[Any, int], str]
) -> Iterator[tuple[str, Sequence[Any], int]]:
    """Yield (kind, documents, first position) for each stretch of documents of one kind."""
    if isinstance(documents, TextColumn):
        documents.check_known(start)
    if isinstance(documents, TextColumn) or set(map(type, documents)) == {str}:
        if len(documents):
            yield "text", documents, start
        return
    for kind, group in groupby(enumerate(documents, start), lambda each: kind_of(each[1], each[0])):
        positions, chosen = zip(*group, strict=True)
        yield kind, chosen, positions[0]


def check_not_null(document: Any, position: int) -> None:
    """Raise InputError for None and NaN, by which a column shows missing texts."""
    if document is None or (isinstance(document, float) and document != document):
        kind = "NoneType" if document is None else "nan"
        raise InputError(
            f"document {position} is {kind} (a null); leave nulls out, or fill them with empty"
            " texts"
        )


def _check_tokens(documents: Sequence[Sequence[Any]], start: int) -> None:
    """Raise InputError for a list of texts in place of tokens: all its elements have spaces.

    The first token of each list shows most lists of tokens, in less than 0.1 us a list.
    """
    if all(type(each[0]) is str and each[0].isalnum() for each in documents if each):
        return
    for at, tokens in enumerate(documents, start):
        if len(tokens) and _is_text(tokens[0]) and all(map(_is_text, filter(None, tokens))):
            raise InputError(
                f"document {at} is a list of texts, such as {shown(tokens[0])}: a list or tuple is"
                " one document, of tokens, and each text would count as one word. Give the text"
                " itself; many texts go to a verb for many, such as query_many, insert_many or"
                " simdb.fingerprints. If these are tokens, such as names, join their words by _"
            )


def _is_text(token: Any) -> bool:
    """Return whether a token has white space between words."""
    return isinstance(token, str | bytes) and len(token.split(None, 1)) > 1


def make_vocabulary(options: TextSketch, resources: Resources) -> kernel.Vocabulary | None:
    """Return the kernel's vocabulary, which drops stop words and stems all other tokens.

    None if the options ask for neither.  Stop words are normalised and lower-cased like tokens.
    """
    if not options.stop_words and not options.stemming:
        return None
    words = options.stop_words
    if isinstance(words, str):
        words = resources.stop_words or (stop_words_of(words) if words else ())
    spelled = {_as_token(word, options) for word in words}
    stem = stemming_of(options.stemming) if options.stemming else None
    try:
        return kernel.Vocabulary(options.seed, sorted(spelled), stem)
    except UnicodeEncodeError as error:
        raise OptionError(f"a stop word has a lone surrogate: {error}") from error


def _as_token(word: str, options: TextSketch) -> str:
    """Normalise and lower-case a stop word by the options."""
    word = cleaned(spelled(word, options), options)
    return lower_cased(word) if options.lowercase else word


def take_resources(options: TextSketch) -> Resources:
    """Return the stop words and versions for a new database.

    Raises OptionError for a missing package.
    """
    language = options.stop_words
    words = stop_words_of(language) if isinstance(language, str) and language else ()
    return Resources(words, installed_versions(options))


def installed_versions(options: TextSketch) -> dict[str, str]:
    """Return the versions of installed packages that these options need."""
    versions = {
        SNOWBALL: snowball_version() if options.stemming else "",
        PARSER: modules.markup.parser_version() if options.markup == "html" else "",
    }
    return {name: version for name, version in versions.items() if version}


def warn_of_changes(options: TextSketch, resources: Resources, where: str) -> None:
    """Issue a RuntimeWarning for each package whose version is not the stored one."""
    for name, version in installed_versions(options).items():
        stored = resources.versions.get(name, version)
        # Only the major and the minor number count.
        if stored.split(".")[:2] != version.split(".")[:2]:
            warnings.warn(
                f"{where} was made with {name} {stored}, but {version} is installed:"
                f" {CONCERNS[name]} may differ, so a document may not match its stored copy;"
                f" install {name} {stored}, or rebuild the database",
                RuntimeWarning,
                stacklevel=3,
            )


def stop_words_of(language: str) -> tuple[str, ...]:
    """Return the stop words of a language, sorted; raise OptionError for an unknown language."""
    package = installed(
        "stop_words", f"stop_words={language!r} needs the package stop-words: {REMEDY}"
    )
    if language not in {*package.AVAILABLE_LANGUAGES, *package.LANGUAGE_MAPPING}:
        raise OptionError(_unknown("stop_words", language, package.AVAILABLE_LANGUAGES))
    return tuple(sorted(set(package.get_stop_words(language))))


def stemming_of(language: str) -> Stem:
    """Return a function that stems words of a language; threads can share it."""
    package = installed(
        "snowballstemmer", f"stemming={language!r} needs the package snowballstemmer: {REMEDY}"
    )
    if language not in package.algorithms():
        raise OptionError(_unknown("stemming", language, package.algorithms()))

    def stem(words: list[str]) -> list[str]:
        # A stemmer stores its current word, so threads must not share it.
        return list(package.stemmer(language).stemWords(words))

    return stem


def snowball_version() -> str:
    """Return the version of the stemmers that `stemming_of` uses; "" if none is installed."""
    try:
        package = import_module("snowballstemmer")
    except ImportError:
        return ""
    if package.stemmer.__module__ == COMPILED_STEMMERS:
        return str(import_module(COMPILED_STEMMERS).version())
    # Loaded when needed: with its own imports it takes a tenth of the time of importing simdb.
    return str(import_module("importlib.metadata").version("snowballstemmer"))


def _unknown(option: str, language: str, languages: list[str]) -> str:
    """Word the error for an unknown language."""
    known = ", ".join(sorted(languages))
    return f"{option} has no language {language!r}; use one of {known}"
