"""Units: what can be dropped of documents, and which arguments go with it."""

from collections.abc import Mapping

from simdb.ground.checks import one_of, whole
from simdb.ground.errors import OptionError

DOCUMENT, PARAGRAPH, LINE, SENTENCE = ("document", "paragraph", "line", "sentence")
UNITS = (DOCUMENT, PARAGRAPH, LINE, SENTENCE)
# Shorter parts are headings, brackets, "Read more" and "Yes", which belong where they stand.
MIN_WORDS = 5
MIN_WORDS_MOST = 1 << 20


def checked_unit(
    unit: str,
    min_words: int | None,
    others: Mapping[str, bool],
    *,
    names: tuple[str, str] = ("unit=", "min_words="),
) -> int:
    """Return the least number of words of a part that can be dropped.

    `others`: whether each other argument is given that has a meaning only for whole documents;
    OptionError if one is.  `names`: of the first two arguments.
    """
    own, least = names
    one_of(own.rstrip("="), unit, UNITS)
    if min_words is not None:
        whole(least.rstrip("="), min_words, 1, MIN_WORDS_MOST)
        if unit == DOCUMENT:
            raise OptionError(
                f"{least} is for parts of texts; give {own} with paragraph, line or sentence, too"
            )
    for other, is_given in others.items():
        if is_given and unit != DOCUMENT:
            raise OptionError(
                f"{other} is for whole documents, but {own} cuts them into parts, of which those"
                " with the same words are equal and the first stays; leave out one of the two"
            )
    return MIN_WORDS if min_words is None else min_words
