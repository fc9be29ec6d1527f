"""Languages: their stop words and stems, from the packages that keep them.

The only door to `stop_words` and `snowballstemmer`, which the extra `text` installs.
"""

from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

from simdb.errors import OptionError

Stem = Callable[[list[str]], list[str]]
REMEDY = "pip install 'simdb[text]'"
# `snowballstemmer` gives the stemmers of this module, compiled, where it is installed.
COMPILED_STEMMERS = "Stemmer"


def stop_words_of(language: str) -> tuple[str, ...]:
    """The stop words of a language, sorted."""
    package = _load("stop_words", f"stop_words={language!r} needs the package stop-words")
    if language not in {*package.AVAILABLE_LANGUAGES, *package.LANGUAGE_MAPPING}:
        raise OptionError(_unknown("stop_words", language, package.AVAILABLE_LANGUAGES))
    return tuple(sorted(set(package.get_stop_words(language))))


def stemming_of(language: str) -> Stem:
    """What gives the stems of words of a language; threads may share it."""
    package = _load("snowballstemmer", f"stemming={language!r} needs the package snowballstemmer")
    if language not in package.algorithms():
        raise OptionError(_unknown("stemming", language, package.algorithms()))

    def stem(words: list[str]) -> list[str]:
        # A stemmer works on a word that it holds, so each call has its own.
        return list(package.stemmer(language).stemWords(words))

    return stem


def snowball_version() -> str:
    """The version of Snowball whose stems `stemming_of` gives; "" where there is none."""
    try:
        package = import_module("snowballstemmer")
    except ImportError:
        return ""
    if package.stemmer.__module__ == COMPILED_STEMMERS:
        return str(import_module(COMPILED_STEMMERS).version())
    return metadata.version("snowballstemmer")


def _load(module: str, need: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"{need}: {REMEDY}") from error


def _unknown(option: str, language: str, languages: list[str]) -> str:
    known = ", ".join(sorted(languages))
    return f"{option} has no language {language!r}; there are {known}"
