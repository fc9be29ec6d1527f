"""Id lines: reads ids of documents from a file, one on each line."""

from simdb.ground.errors import InputError
from simdb.sources.content import (
    CONTENT_ERRORS,
    explained,
    known_encoding,
    opened,
    settled_encoding,
)


def read_ids(path: str) -> list[str]:
    """Return the lines of a file, or of standard input for `-`, without empty ones.

    Raises InputError if it cannot be read as text.
    """
    encoding = known_encoding("utf-8")
    try:
        with opened(path) as stream:
            encoding = settled_encoding(stream, encoding)
            text = stream.read().decode(encoding)
    except CONTENT_ERRORS as error:
        raise InputError(f"{path}: {explained(error)}") from error
    # Other separators of lines, which splitlines knows, can be part of an id.
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line]
