"""Packages: what they provide is taken when a database is created, and compared afterwards."""

import warnings

from simdb.resources import Resources
from simdb.sketch.language import snowball_version, stop_words_of
from simdb.sketch.markup import parser_version
from simdb.text_sketch import TextSketch

# What a version concerns, by the name under which it is kept.
SNOWBALL = "Snowball"
PARSER = "selectolax"
CONCERNS = {SNOWBALL: "the stems of words", PARSER: "the text of HTML pages"}


def take_resources(options: TextSketch) -> Resources:
    """What a new database of these options keeps; OptionError where a package is missing."""
    language = options.stop_words
    words = stop_words_of(language) if isinstance(language, str) and language else ()
    return Resources(words, installed_versions(options))


def installed_versions(options: TextSketch) -> dict[str, str]:
    """Versions of the packages that these options need and that are installed."""
    versions = {
        SNOWBALL: snowball_version() if options.stemming else "",
        PARSER: parser_version() if options.markup == "html" else "",
    }
    return {name: version for name, version in versions.items() if version}


def warn_of_changes(options: TextSketch, resources: Resources, where: str) -> None:
    """RuntimeWarning for each package that has another version than the database was made with."""
    for name, installed in installed_versions(options).items():
        kept = resources.versions.get(name, installed)
        if _release(kept) != _release(installed):
            warnings.warn(
                f"{where} was made with {name} {kept}, and {installed} is installed:"
                f" {CONCERNS[name]} may differ, and documents that are stored already would not"
                f" match the same ones again; install {name} {kept}, or build the database anew",
                RuntimeWarning,
                stacklevel=3,
            )


def _release(version: str) -> list[str]:
    """Major and minor number."""
    return version.split(".")[:2]
