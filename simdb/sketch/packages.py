"""Packages: stores what optional packages provide in a new database, and later warns of changes."""

import warnings

from simdb.settings.resources import Resources
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.language import snowball_version, stop_words_of
from simdb.sketch.markup import parser_version

# What depends on the version of each package, by the name under which the version is stored.
SNOWBALL = "Snowball"
PARSER = "selectolax"
CONCERNS = {SNOWBALL: "the stems of words", PARSER: "the text of HTML pages"}


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
    for name, installed in installed_versions(options).items():
        stored = resources.versions.get(name, installed)
        if _release(stored) != _release(installed):
            warnings.warn(
                f"{where} was made with {name} {stored}, but {installed} is installed:"
                f" {CONCERNS[name]} may differ, so a document may not match its stored copy;"
                f" install {name} {stored}, or rebuild the database",
                RuntimeWarning,
                stacklevel=3,
            )


def _release(version: str) -> list[str]:
    """Return the major and the minor number of a version."""
    return version.split(".")[:2]
