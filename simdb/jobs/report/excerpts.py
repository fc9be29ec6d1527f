"""Excerpts: the beginning of a text, and what differs between it and another text.

Texts are compared word by word; case, and punctuation around a word, make no difference, as in a
search.  A long run of characters of a script without spaces, such as Chinese, is compared by
character; any other long word, such as an address or a hash, is one word.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby

from simdb.core.previews import counted
from simdb.jobs.report.facts import TextPiece

# "same": in both texts; "added": only in the second text; "removed": only in the first; "gap": left
# out of the excerpt.
KINDS = SAME, ADDED, REMOVED, GAP = ("same", "added", "removed", "gap")
# The first so many words of a text are compared.
COMPARED_WORDS = 1000
# Up to so many pairs of words, words that occur often are aligned as carefully as others.
EXACT_PRODUCT = 1 << 16
# An excerpt has the first words of a text, and these words around each difference after them.
FIRST_WORDS = 40
AROUND_WORDS = 6
SHOWN_WORDS = 120
# Characters of a text that are looked at.
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
# More of a word is not shown.
SHOWN_CHARACTERS = 400
# Punctuation at the begin and the end of a word.
PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$")

LEFT, RIGHT = 0, 1
Part = tuple[str, str, str]  # a word of the left text, the same of the right one, and the kind


def beginning(text: str) -> tuple[TextPiece, ...]:
    """Return the first words of a text."""
    words = words_of(text)
    parts = [(word, word, SAME) for word in words[: FIRST_WORDS + AROUND_WORDS]]
    return _joined([*parts, ("", "", GAP)] if len(words) > len(parts) else parts, RIGHT)


def compared(first: str, second: str) -> tuple[tuple[TextPiece, ...], str]:
    """Return an excerpt of the second text, with what differs from the first, and a note."""
    found, scope = _marked(first, second)
    if not found.changed:
        return beginning(second), f"no word differs{scope}"
    added, removed = counted(found.count(ADDED), "word"), found.count(REMOVED)
    return _joined(found.chosen(), RIGHT), f"{added} added, {removed:,} removed{scope}"


def beside(left: str, right: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...], str]:
    """Return excerpts of two texts at the same places, and a note of how many words differ.

    Words that only the left text has are "removed", and words that only the right text has "added".
    """
    found, scope = _marked(left, right)
    if not found.changed:
        return beginning(left), beginning(right), f"no word differs{scope}"
    only_left, only_right = counted(found.count(REMOVED), "word"), found.count(ADDED)
    parts = found.chosen()
    own_left, own_right = ([each for each in parts if each[2] != no] for no in (ADDED, REMOVED))
    note = f"{only_left} only on the left, {only_right:,} only on the right{scope}"
    return _joined(own_left, LEFT), _joined(own_right, RIGHT), note


def words_of(text: str) -> list[str]:
    """Return the words of a text, each with a space after it; a long one in its `PIECES`."""
    words: list[str] = []
    for word in visible(text[:TEXT_CHARACTERS]).split():
        words += [word] if len(word) <= WORD_CHARACTERS else PIECES.findall(word)
        words[-1] += " "
    return words


def visible(text: str) -> str:
    """Return a text with U+FFFD for what no page can show: controls and lone surrogates."""
    return "".join(
        each if each.isspace() or each.isprintable() or each in "\u200c\u200d" else "\ufffd"
        for each in text
    )


@dataclass(frozen=True, slots=True)
class _Differing:
    """The words of two texts in order, and the places of those that only one of them has."""

    parts: Sequence[Part]
    changed: Sequence[int]

    def count(self, kind: str) -> int:
        """Count the words of a kind."""
        return sum(each == kind for _, _, each in self.parts)

    def chosen(self) -> Sequence[Part]:
        """Return the first parts and those around changes, with gaps between them."""
        places = set(range(min(FIRST_WORDS, len(self.parts))))
        for at in self.changed:
            if len(places) >= SHOWN_WORDS:
                break
            stop = min(at + AROUND_WORDS + 1, len(self.parts))
            places.update(range(max(at - AROUND_WORDS, 0), stop))
        chosen: list[Part] = []
        last = -1
        for at in sorted(places):
            if at != last + 1:
                chosen.append(("", "", GAP))
            chosen.append(self.parts[at])
            last = at
        if last + 1 < len(self.parts):
            chosen.append(("", "", GAP))
        return chosen


def _marked(first: str, second: str) -> tuple[_Differing, str]:
    """Return how the words of two texts differ, and which words were compared, for a note."""
    left, right = words_of(first), words_of(second)
    parts = _differing(left[:COMPARED_WORDS], right[:COMPARED_WORDS])
    changed = [at for at, (_, _, kind) in enumerate(parts) if kind != SAME]
    is_cut = max(len(left), len(right)) > COMPARED_WORDS or (
        max(len(first), len(second)) > TEXT_CHARACTERS
    )
    scope = f" among the first {COMPARED_WORDS:,} words" if is_cut else ""
    return _Differing(parts, changed), scope


def _differing(left: Sequence[str], right: Sequence[str]) -> list[Part]:
    """Return the words of both texts in order; what both begin and end with is set apart first."""
    length = min(len(left), len(right))
    one, other = list(map(_key, left)), list(map(_key, right))
    start = next((at for at in range(length) if one[at] != other[at]), length)
    rest = length - start
    end = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    return [
        *_same(left[:start], right[:start]),
        *_aligned(left[start : len(left) - end], right[start : len(right) - end]),
        *_same(left[len(left) - end :], right[len(right) - end :]),
    ]


def _key(word: str) -> str:
    """Return what words are compared by: no case, and no punctuation around it."""
    bare = word.strip().casefold()
    inner = PUNCTUATION.sub("", bare)
    return inner or bare


def _same(left: Sequence[str], right: Sequence[str]) -> Iterator[Part]:
    for own, other in zip(left, right, strict=True):
        yield own, other, SAME


def _aligned(left: Sequence[str], right: Sequence[str]) -> list[Part]:
    """Return the words of both texts in order, each with its kind."""
    keys_left, keys_right = ([_key(word) for word in side] for side in (left, right))
    # Words that occur often make many small matches, which take long in texts with little else.
    is_large = len(left) * len(right) > EXACT_PRODUCT
    matcher = SequenceMatcher(None, keys_left, keys_right, autojunk=is_large)
    parts: list[Part] = []
    for name, left_start, left_stop, right_start, right_stop in matcher.get_opcodes():
        if name == "equal":
            parts += _same(left[left_start:left_stop], right[right_start:right_stop])
        else:
            parts += [(word, "", REMOVED) for word in left[left_start:left_stop]]
            parts += [("", word, ADDED) for word in right[right_start:right_stop]]
    return parts


def _shown(word: str) -> str:
    return word if len(word) <= SHOWN_CHARACTERS else f"{word[:SHOWN_CHARACTERS]}\u2026 "


def _joined(parts: Sequence[Part], side: int) -> tuple[TextPiece, ...]:
    """Return neighbouring words of one kind as one piece; there is no space after the last.

    `side`: the text whose words are shown where both have the same; a word that only one text has
    is shown as it is.
    """
    pieces = [
        TextPiece("".join(_shown(part[side] or part[1 - side]) for part in some), kind)
        for kind, some in groupby(parts, key=lambda part: part[2])
    ]
    return (*pieces[:-1], *(replace(last, text=last.text.rstrip()) for last in pieces[-1:]))
