"""Excerpts: the beginning of a text, and its differences from another text.

Texts are compared word by word.  As in a search, case and punctuation around a word do not count.
A long run in a script without spaces, such as Chinese, is compared by character.  Any other long
word, such as an address or a hash, is one word.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby, repeat
from typing import NamedTuple

from simdb.core.previews import counted

# "same" is in both texts, "added" only in the second, "removed" only in the first.  "gap" replaces
# words that the excerpt omits.
KINDS = SAME, ADDED, REMOVED, GAP = ("same", "added", "removed", "gap")
COMPARED_WORDS = 1000  # from the beginning of a text
# Pairs of words up to which frequent words are also aligned exactly.
EXACT_PRODUCT = 1 << 16
# An excerpt has the first words of a text, and some words around each later difference.
FIRST_WORDS = 40
AROUND_WORDS = 6
SHOWN_WORDS = 120
# Characters of a text that are read.
TEXT_CHARACTERS = 20_000
WORD_CHARACTERS = 40
# A character of a script that has no spaces between words (Thai and Lao, Burmese, Khmer, Chinese,
# Japanese), or all characters up to the next one.
PIECES = re.compile(
    "[{0}]|[^{0}]+".format(
        "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f"
        "\U00020000-\U0003ffff"
    )
)
WORD = re.compile(r"(\S+)(\s*)")
# Limit on the characters of a word in an excerpt.
SHOWN_CHARACTERS = 400
# Punctuation at the beginning and the end of a word.
PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$")

LEFT, RIGHT = 0, 1
Part = tuple[str, str, str]  # a word of the left text, the same of the right one, and the kind


class TextPiece(NamedTuple):
    """A piece of an excerpt; `kind` is one of `KINDS`."""

    text: str
    kind: str


def beginning(text: str) -> tuple[TextPiece, ...]:
    """Return the first words of a text."""
    words = words_of(text)
    parts = [(word, word, SAME) for word in words[: FIRST_WORDS + AROUND_WORDS]]
    return _joined([*parts, ("", "", GAP)] if len(words) > len(parts) else parts, RIGHT)


def compared(first: str, second: str) -> tuple[tuple[TextPiece, ...], str]:
    """Return an excerpt of the second text with its differences from the first, and a note."""
    parts, removed, added, scope = _marked(first, second)
    if not removed + added:
        return beginning(second), f"no word differs{scope}"
    note = f"{counted(added, 'word')} added, {removed:,} removed{scope}"
    return _joined(_around_changes(parts), RIGHT), note


def beside(left: str, right: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...], str]:
    """Return excerpts of two texts at the same places, and a note that counts differing words.

    Words only in the left text are "removed", and words only in the right text are "added".
    """
    parts, removed, added, scope = _marked(left, right)
    if not removed + added:
        return beginning(left), beginning(right), f"no word differs{scope}"
    chosen = _around_changes(parts)
    own_left, own_right = ([each for each in chosen if each[2] != no] for no in (ADDED, REMOVED))
    note = f"{counted(removed, 'word')} only on the left, {added:,} only on the right{scope}"
    return _joined(own_left, LEFT), _joined(own_right, RIGHT), note


def words_of(text: str) -> list[str]:
    """Return the words of a text, each with the space after it; long words are cut into `PIECES`.

    The space is one character, or the end of a line and the indentation of the next line.
    """
    words: list[str] = []
    for word, space in WORD.findall(visible(text[:TEXT_CHARACTERS])):
        words += [word] if len(word) <= WORD_CHARACTERS else PIECES.findall(word)
        words[-1] += ("\n" * min(n, 2) + space.split("\n")[-1]) if (n := space.count("\n")) else " "
    return words


def visible(text: str) -> str:
    """Return a text with U+FFFD in place of control characters and lone surrogates."""
    return "".join(
        each if each.isspace() or each.isprintable() or each in "\u200c\u200d" else "\ufffd"
        for each in text
    )


def _around_changes(parts: Sequence[Part]) -> list[Part]:
    """Return the first parts and the parts around changes, with gaps between them."""
    places = set(range(min(FIRST_WORDS, len(parts))))
    for at, (_, _, kind) in enumerate(parts):
        if len(places) >= SHOWN_WORDS:
            break
        if kind != SAME:
            places.update(range(max(at - AROUND_WORDS, 0), min(at + AROUND_WORDS + 1, len(parts))))
    chosen: list[Part] = []
    last = -1
    for at in sorted(places):
        if at != last + 1:
            chosen.append(("", "", GAP))
        chosen.append(parts[at])
        last = at
    return chosen if last + 1 == len(parts) else [*chosen, ("", "", GAP)]


def _marked(first: str, second: str) -> tuple[list[Part], int, int, str]:
    """Return the words of two texts in order, and the numbers of removed and of added words.

    The last item says in words how much was compared, "" if everything was.
    """
    left, right = words_of(first), words_of(second)
    parts = _differing(left[:COMPARED_WORDS], right[:COMPARED_WORDS])
    removed, added = (sum(each[2] == kind for each in parts) for kind in (REMOVED, ADDED))
    is_cut = max(len(left), len(right)) > COMPARED_WORDS or (
        max(len(first), len(second)) > TEXT_CHARACTERS
    )
    return parts, removed, added, f" among the first {COMPARED_WORDS:,} words" if is_cut else ""


def _differing(left: Sequence[str], right: Sequence[str]) -> list[Part]:
    """Return the words of both texts in order, each with its kind.

    The words that both texts begin and end with are removed before the alignment.
    """
    one, other = list(map(_key, left)), list(map(_key, right))
    length = min(len(left), len(right))
    start = next((at for at in range(length) if one[at] != other[at]), length)
    rest = length - start
    end = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    stops = len(left) - end, len(right) - end
    one, other = one[start : stops[0]], other[start : stops[1]]
    # In long texts, frequent words make too many small matches, so the matcher may ignore them.
    is_large = len(one) * len(other) > EXACT_PRODUCT
    matcher = SequenceMatcher(None, one, other, autojunk=is_large)
    parts = list(zip(left[:start], right[:start], repeat(SAME)))
    for name, *places in matcher.get_opcodes():
        left_start, left_stop, right_start, right_stop = (start + at for at in places)
        own, others = left[left_start:left_stop], right[right_start:right_stop]
        if name == "equal":
            parts += zip(own, others, repeat(SAME))
        else:
            parts += zip(own, repeat(""), repeat(REMOVED))
            parts += zip(repeat(""), others, repeat(ADDED))
    return [*parts, *zip(left[stops[0] :], right[stops[1] :], repeat(SAME))]


def _key(word: str) -> str:
    """Return a word in lower case, without punctuation around it, for comparison."""
    bare = word.strip().casefold()
    inner = PUNCTUATION.sub("", bare)
    return inner or bare


def _shown(word: str) -> str:
    return word if len(word) <= SHOWN_CHARACTERS else f"{word[:SHOWN_CHARACTERS]}\u2026 "


def _joined(parts: Sequence[Part], side: int) -> tuple[TextPiece, ...]:
    """Return consecutive words of one kind as one piece, without a space after the last.

    `side`: the text from which equal words are taken, since their case can differ.
    """
    pieces = [
        TextPiece("".join(_shown(part[side] or part[1 - side]) for part in some), kind)
        for kind, some in groupby(parts, key=lambda part: part[2])
    ]
    return (*pieces[:-1], *(last._replace(text=last.text.rstrip()) for last in pieces[-1:]))
