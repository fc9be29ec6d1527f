"""Sketching: how text becomes fingerprints or signatures, by the same options everywhere.

A command under `sketched` has all of these options and receives what was given in one argument,
`sketch`: the options by name, without those that were left out.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any

import typer

import simdb
from simdb.cli.reading.content import known_encoding, read_file
from simdb.errors import OptionError
from simdb.minhash import Minhash
from simdb.options import Simhash
from simdb.sketch.kinds import AnySketcher, sketcher_of
from simdb.sketch.minhash_signer import NO_RESOURCES
from simdb.sketch.sketcher import Sketcher
from simdb.text_sketch import TextSketch

Given = dict[str, Any]
Command = Callable[..., None]

PANEL = "Sketch"
MINHASH = "minhash"  # which kind of sketch, among the options by name
USUAL = Simhash()
PRESETS = {"paper": Simhash.paper(), "moz": Simhash.moz()}
# Before the name of a file that holds the words, as many programs have it.
FILE_MARK = "@"


def sketched(command: Command) -> Command:
    """The command with the options of a sketch in the place of its argument `sketch`."""
    parts = {each: inspect.signature(each).parameters for each in (_given, _given_signed)}
    shared = {name: each for part in parts.values() for name, each in part.items()}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        parameters.update(shared if name == "sketch" else {name: parameter})

    @wraps(command)
    def run(**values: Any) -> None:
        given: Given = {}
        for read, names in parts.items():
            given |= read(**{name: values.pop(name) for name in names})
        command(**values, sketch=given)

    keywords = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters.values()]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in keywords}
    return run


def make_sketch(given: Given) -> Simhash | Minhash:
    """The sketch that was asked for; what was not given is as usual."""
    kind = Minhash if given.get(MINHASH) else Simhash
    settings = {name: value for name, value in given.items() if name != MINHASH}
    known = {each.name for each in fields(kind)}
    for name in settings:
        if name not in known:
            here = (
                "of fingerprints; leave it or --minhash out"
                if kind is Minhash
                else "of MinHash signatures; give --minhash, too"
            )
            raise OptionError(f"--{name.replace('_', '-')} is {here}")
    return kind(**settings)


def check_given(given: Given, stored: TextSketch, where: str) -> None:
    """Raise OptionError when the database at `where` was created with another sketch."""
    is_signed = isinstance(stored, Minhash)
    for name, value in given.items():
        found = is_signed if name == MINHASH else getattr(stored, name, "not there")
        if value != found:
            raise OptionError(
                f"{where} was created with --{name.replace('_', '-')} {found}, not {value}; leave"
                " the option out"
            )


def allowed(given: Given, allow: Sequence[str] | None) -> list[str]:
    """Names of callables that may be imported: those of --allow, and of the sketch itself."""
    return [*(allow or []), given.get("tokeniser", "")]


@contextmanager
def opened_sketcher(
    db: str | None, given: Given, allow: Sequence[str] | None
) -> Iterator[AnySketcher]:
    """What sketches as the database `db` does, or as it was said where there is none."""
    if db is None:
        sketch = make_sketch(given)
        yield sketcher_of(sketch, NO_RESOURCES, [sketch.tokeniser])
        return
    with simdb.open(db, "r", allow=allowed(given, allow)) as database:
        check_given(given, database.options.sketch, db)
        yield database.sketcher


def fingerprinting(sketcher: AnySketcher) -> Sketcher:
    """What makes fingerprints; OptionError for what makes signatures."""
    if not isinstance(sketcher, Sketcher):
        raise OptionError("MinHash makes signatures, no fingerprints; see explain and query")
    return sketcher


def _flag(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel=PANEL)


def _given(
    preset: Annotated[
        str | None,
        _flag("paper (Sood & Loguinov 2011) or moz (simhash-cpp): what is not given is as there."),
    ] = None,
    markup: Annotated[
        str | None, _flag("none, or html: take the visible text; none if not given.")
    ] = None,
    html_title: Annotated[
        bool | None, _flag("Whether the title of HTML belongs to its text; yes if not given.")
    ] = None,
    html_links: Annotated[
        bool | None, _flag("Whether the targets of links do; no if not given.")
    ] = None,
    normalisation: Annotated[
        str | None, _flag("Unicode normalisation: none, nfc or nfkc; none if not given.")
    ] = None,
    unit: Annotated[
        str | None, _flag("Tokens are words, characters, whitespace or moz; words if not given.")
    ] = None,
    tokeniser: Annotated[
        str | None, _flag("package.module:function that cuts a text into tokens instead.")
    ] = None,
    lowercase: Annotated[
        bool | None, _flag("Whether the case of letters is ignored; yes if not given.")
    ] = None,
    stop_words: Annotated[
        str | None, _flag("Leave out these words: a language, or @FILE with a word on each line.")
    ] = None,
    stemming: Annotated[
        str | None, _flag("A language of Snowball, whose stems take the place of words.")
    ] = None,
    shingle: Annotated[
        int | None, _flag("How many consecutive tokens make a feature; 3 if not given.")
    ] = None,
    weighting: Annotated[
        str | None,
        _flag(
            "binary, tf, log-tf, binary-idf, tf-idf or log-tf-idf; binary if not given.  With"
            " --minhash set, bag, tf or tf-idf; set if not given."
        ),
    ] = None,
    idf: Annotated[
        str | None,
        _flag("Weigh by the table in this file; what is not given is as it was fitted, tf-idf."),
    ] = None,
    seed: Annotated[int | None, _flag("Seed of the feature hash; 0 if not given.")] = None,
    dimensions: Annotated[
        int | None, _flag("Weights of a document: 64 or 128; 128 if not given.")
    ] = None,
) -> Given:
    """What was said of the sketch."""
    given = (_fitted(idf) if idf else {}) | (_preset(preset) if preset else {})
    named = {
        "markup": markup, "html_title": html_title, "html_links": html_links,
        "normalisation": normalisation, "unit": unit, "tokeniser": tokeniser,
        "lowercase": lowercase, "stop_words": _words(stop_words), "stemming": stemming,
        "shingle": shingle, "weighting": weighting, "seed": seed, "dimensions": dimensions,
    }  # fmt: skip
    return given | {name: value for name, value in named.items() if value is not None}


def _given_signed(
    minhash: Annotated[
        bool | None, _flag("MinHash signatures and their Jaccard, not fingerprints.")
    ] = None,
    permutations: Annotated[int | None, _flag("Minima of a signature; 128 if not given.")] = None,
    stored_bits: Annotated[
        int | None, _flag("Bits of a minimum that are stored, 8 or 32; 32 if not given.")
    ] = None,
    family: Annotated[
        str | None, _flag("multiply-shift, mersenne or one-permutation; of the minima.")
    ] = None,
) -> Given:
    """What was said of signatures."""
    named = {
        MINHASH: minhash or None, "permutations": permutations, "stored_bits": stored_bits,
        "family": family,
    }  # fmt: skip
    return {name: value for name, value in named.items() if value is not None}


def _preset(name: str) -> Given:
    """The options in which a preset differs from the usual sketch."""
    if name not in PRESETS:
        raise OptionError(f"--preset is {' or '.join(PRESETS)}, not {name!r}")
    values = {each.name: getattr(PRESETS[name], each.name) for each in fields(Simhash)}
    return {name: value for name, value in values.items() if value != getattr(USUAL, name)}


def _fitted(path: str) -> Given:
    """The options that an IDF table goes with."""
    table = simdb.load_idf(path)
    return {**table.settings, "weighting": "tf-idf", "idf": table}


def _words(stop_words: str | None) -> str | tuple[str, ...] | None:
    """A language, or the words in a file in the form in which a sketch keeps them."""
    if stop_words is None or not stop_words.startswith(FILE_MARK):
        return stop_words
    text = read_file(stop_words.removeprefix(FILE_MARK), known_encoding("utf-8"), "strict")
    return tuple(sorted(set(text.split())))
