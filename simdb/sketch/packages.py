"""Packages: stores what optional packages provide in a new database, and later warns of changes.

These are stemmers and lists of stop words, by language.
"""

import warnings
from collections.abc import Callable
from importlib import import_module

from simdb.core.checks import installed
from simdb.core.errors import OptionError
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import TextSketch
from simdb.sketch.markup import parser_version

# What depends on the version of each package, by the name under which the version is stored.
SNOWBALL = "Snowball"
PARSER = "selectolax"
CONCERNS = {SNOWBALL: "the stems of words", PARSER: "the text of HTML pages"}
REMEDY = "pip install snowballstemmer stop-words"
# If this module is installed, `snowballstemmer` hands out its compiled stemmers.
COMPILED_STEMMERS = "Stemmer"

Stem = Callable[[list[str]], list[str]]


def take_resources(options: TextSketch) -> Resources:
    """Return what a new database stores of the packages; OptionError if one is not installed."""
    language = options.stop_words
    words = stop_words_of(language) if isinstance(language, str) and language else ()
    return Resources(words, installed_versions(options))


def installed_versions(options: TextSketch) -> dict[str, str]:
    """Return the versions of the packages that these options need and that are installed."""
    versions = {
        SNOWBALL: snowball_version() if options.stemming else "",
        PARSER: parser_version() if options.markup == "html" else "",
    }
    return {name: version for name, version in versions.items() if version}


def warn_of_changes(options: TextSketch, resources: Resources, where: str) -> None:
    """Issue a RuntimeWarning for each package whose version is not the stored one."""
    for name, version in installed_versions(options).items():
        stored = resources.versions.get(name, version)
        if _release(stored) != _release(version):
            warnings.warn(
                f"{where} was made with {name} {stored}, but {version} is installed:"
                f" {CONCERNS[name]} may differ, so a document may not match its stored copy;"
                f" install {name} {stored}, or rebuild the database",
                RuntimeWarning,
                stacklevel=3,
            )


def _release(version: str) -> list[str]:
    """Return the major and the minor number of a version."""
    return version.split(".")[:2]


def stop_words_of(language: str) -> tuple[str, ...]:
    """Return the stop words of a language, sorted; OptionError for an unknown language."""
    package = installed(
        "stop_words", f"stop_words={language!r} needs the package stop-words: {REMEDY}"
    )
    if language not in {*package.AVAILABLE_LANGUAGES, *package.LANGUAGE_MAPPING}:
        raise OptionError(_unknown("stop_words", language, package.AVAILABLE_LANGUAGES))
    return tuple(sorted(set(package.get_stop_words(language))))


def stemming_of(language: str) -> Stem:
    """Return a function from words of a language to their stems; threads can share it."""
    package = installed(
        "snowballstemmer", f"stemming={language!r} needs the package snowballstemmer: {REMEDY}"
    )
    if language not in package.algorithms():
        raise OptionError(_unknown("stemming", language, package.algorithms()))

    def stem(words: list[str]) -> list[str]:
        # A stemmer stores the word that it works on, so threads must not share it.
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
    # Loaded when needed: with all that it imports it is a tenth of the import of simdb.
    return str(import_module("importlib.metadata").version("snowballstemmer"))


def _unknown(option: str, language: str, languages: list[str]) -> str:
    """Word the error for an unknown language."""
    known = ", ".join(sorted(languages))
    return f"{option} has no language {language!r}; use one of {known}"
