"""Sketch options: turn texts into fingerprints or signatures in the same way for all commands.

A command with a parameter of the type `SketchOptions` has all of them.  `SketchOptions.given`
returns the options that were given, by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import simdb
from simdb import core, files
from simdb.core.errors import OptionError
from simdb.core.values import asdict, dataclass, fields

Given = dict[str, Any]

MINHASH = "minhash"  # the option that chooses MinHash; all other options are fields of a sketch
BITS = "bits"  # the option that chooses hashes, and excludes all others
SIZED = ("preset", "dimensions", "minhash", "permutations", "stored_bits")  # --bytes sets these
PRESETS = ("paper", "moz")
# Marks a value of --stop-words as the name of a file with the words.
FILE_MARK = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchOptions:
    """The sketch options as typed on a command line; None for each that was not given."""

    preset: str | None = None
    markup: str | None = None
    html_title: bool | None = None
    html_links: bool | None = None
    html_weights: Annotated[list[str] | None, "--html-weight"] = None
    normalisation: str | None = None
    marks: str | None = None
    unit: str | None = None
    by_character: str | None = None
    tokeniser: str | None = None
    lowercase: bool | None = None
    clean: bool | None = None
    turkic_case: bool | None = None
    stop_words: str | None = None
    stemming: str | None = None
    shingle: int | None = None
    weighting: str | None = None
    idf: str | None = None
    seed: int | None = None
    dimensions: int | None = None
    bytes: int | None = None
    minhash: bool | None = None
    permutations: int | None = None
    stored_bits: int | None = None
    family: str | None = None

    def given(self, bits: int | None = None) -> Given:
        """Return the options that were given, and the options of the preset and the IDF table.

        `bits`: value of --bits.  Raises OptionError for any other option together with it.
        """
        if bits is not None:
            for name, value in asdict(self).items():
                if value is not None:
                    raise OptionError(
                        f"{_flag(name)} says how texts are read, and --bits that documents are"
                        " hashes; leave out one of the two"
                    )
            return {BITS: bits}
        start = (_fitted(self.idf) if self.idf else {}) | (
            _preset(self.preset) if self.preset else {}
        )
        start |= self._of_bytes()
        named = asdict(self) | {
            "stop_words": _words(self.stop_words), MINHASH: self.minhash or None,
            "preset": None, "idf": None, "bytes": None,
            "html_weights": None if self.html_weights is None else tuple(sorted(self.html_weights)),
        }  # fmt: skip
        return start | {name: value for name, value in named.items() if value is not None}

    def _of_bytes(self) -> Given:
        """Return the options that --bytes sets; raise OptionError if one of them is given, too."""
        if self.bytes is None:
            return {}
        for name in SIZED:
            if getattr(self, name) is not None:
                raise OptionError(f"--bytes chooses the sketch, so leave out {_flag(name)}")
        sketch = core.options.sketch_of_bytes(self.bytes)
        size = {"permutations": sketch.permutations, "stored_bits": sketch.stored_bits}
        return {MINHASH: True, **size}


def make_sketch(given: Given) -> simdb.Simhash | simdb.Minhash | simdb.Bits:
    """Return the sketch with the given options, and defaults for all others."""
    return simdb.Bits(given[BITS]) if BITS in given else make_text_sketch(given)


def make_text_sketch(given: Given) -> simdb.Simhash | simdb.Minhash:
    """Return the sketch of texts with the given options, and defaults for all others."""
    kind = simdb.Minhash if given.get(MINHASH) else simdb.Simhash
    settings = {name: value for name, value in given.items() if name != MINHASH}
    known = {each.name for each in fields(kind)}
    for name in settings:
        if name not in known:
            works_with = (
                "fingerprints; leave out this option or --minhash"
                if kind is simdb.Minhash
                else "MinHash signatures; add --minhash"
            )
            raise OptionError(f"{_flag(name)} works only with {works_with}")
    return kind(**settings)


def check_given(given: Given, stored: simdb.TextSketch, where: str) -> None:
    """Raise OptionError if the database at `where` was created with other sketch options."""
    is_minhash, is_hashes = isinstance(stored, simdb.Minhash), isinstance(stored, simdb.Bits)
    for name, value in given.items():
        if is_hashes != (name == BITS):
            raise OptionError(
                f"{where} has {'hashes' if is_hashes else 'texts'}, so {_flag(name)} does not"
                " apply; leave it out, or begin a new database"
            )
        found = is_minhash if name == MINHASH else getattr(stored, name, "no value")
        if value != found:
            raise OptionError(
                f"{where} was created with {_flag(name)} {found}, not {value}; leave out the"
                " option, or begin a new database"
            )


def allowed(given: Given, allow: Sequence[str] | None) -> list[str]:
    """Return the names of functions that may be imported: from --allow and from --tokeniser."""
    return [*(allow or []), given.get("tokeniser", "")]


@contextmanager
def opened(db: str | None, given: Given, allow: Sequence[str] | None) -> Iterator[simdb.Database]:
    """Open the database `db`, which must have the given options, or one in memory with them."""
    options = None if db is not None else simdb.Options(sketch=make_sketch(given))
    mode: Literal["c", "r"] = "c" if db is None else "r"
    with simdb.open(db, mode, options=options, allow=allowed(given, allow)) as database:
        if db is not None:
            check_given(given, database.options.sketch, db)
        yield database


def _flag(name: str) -> str:
    """Return the option on the command line for a field of `SketchOptions`."""
    return "--html-weight" if name == "html_weights" else f"--{name.replace('_', '-')}"


def _preset(name: str) -> Given:
    """Return the options of a preset that differ from the default sketch."""
    if name not in PRESETS:
        raise OptionError(f"--preset must be {' or '.join(PRESETS)}, got {name!r}")
    preset = getattr(simdb.Simhash, name)()
    return core.text_sketch.differing_options(preset, simdb.Simhash())


def _fitted(path: str) -> Given:
    """Return the options that an IDF table was made with, and the table."""
    table = simdb.load_idf(path)
    return {**table.settings, "weighting": "tf-idf", "idf": table}


def _words(stop_words: str | None) -> str | tuple[str, ...] | None:
    """Return the name of a language, or the words from a file, sorted and distinct."""
    if stop_words is None or not stop_words.startswith(FILE_MARK):
        return stop_words
    path, encoding = stop_words.removeprefix(FILE_MARK), core.decoding.known_encoding("utf-8")
    text = files.read_file(path, encoding, "strict")
    return tuple(sorted(set(text.split())))
