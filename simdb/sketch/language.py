"""Languages: gets the stop words and the stemmer of a language from two optional packages.

Only this module imports `stop_words` and `snowballstemmer`, which the extra `text` installs.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from simdb.ground.errors import OptionError

Stem = Callable[[list[str]], list[str]]
REMEDY = "pip install snowballstemmer stop-words"
# If this module is installed, `snowballstemmer` hands out its compiled stemmers.
COMPILED_STEMMERS = "Stemmer"


def stop_words_of(language: str) -> tuple[str, ...]:
    """Return the stop words of a language, sorted; OptionError for an unknown language."""
    package = _load("stop_words", f"stop_words={language!r} needs the package stop-words")
    if language not in {*package.AVAILABLE_LANGUAGES, *package.LANGUAGE_MAPPING}:
        raise OptionError(_unknown("stop_words", language, package.AVAILABLE_LANGUAGES))
    return tuple(sorted(set(package.get_stop_words(language))))


def stemming_of(language: str) -> Stem:
    """Return a function from words of a language to their stems; threads can share it."""
    package = _load("snowballstemmer", f"stemming={language!r} needs the package snowballstemmer")
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


def _load(module: str, need: str) -> Any:
    """Import a package; OptionError, which says what needs it, if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"{need}: {REMEDY}") from error


def _unknown(option: str, language: str, languages: list[str]) -> str:
    """Word the error for an unknown language."""
    known = ", ".join(sorted(languages))
    return f"{option} has no language {language!r}; use one of {known}"
