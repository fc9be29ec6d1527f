"""Edits: near-duplicates of a text, by several kinds of edits of a chosen strength.

`cosine` is the cosine of the word 3-shingles of both texts that an edit aims at.  With w words,
each of k replaced words takes up to three shingles from the text and brings three others, so the
cosine is about 1 - 3 k / w.  The other kinds follow in the same way.
"""

from collections.abc import Callable
from random import Random

from passages import WORDS

# Number of words to edit, as a share of 1 - cosine of the words of the text.
REPLACED = 1 / 3
DELETED = 1 / 2.5
INSERTED = 1 / 2.5
SWAPPED = 1 / 4
MIXED = 1 / 3
SENTENCE = 12  # words that are moved together

Words = list[str]


def edited(text: str, words: Words, cosine: float, chance: Random) -> str:
    """Return a near-duplicate of `text`; new words come from `words`."""
    kind = chance.choices(KINDS, SHARES)[0]
    old = WORDS.findall(text)
    return "".join(kind(old, words, 1 - cosine, chance)) if old else text


def copied(old: Words, new: Words, share: float, chance: Random) -> Words:
    return old


def recased(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Change case and white space, which no default feature sees."""
    if chance.random() < 0.5:
        return [word.upper() for word in old]
    return [word.swapcase() if chance.random() < share else word + " " for word in old]


def replaced(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * REPLACED, chance):
        old[at] = chance.choice(new)
    return old


def deleted(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * DELETED, chance):
        old[at] = ""
    return old


def inserted(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * INSERTED, chance):
        old[at] += f" {chance.choice(new)} "
    return old


def swapped(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old[1:], share * SWAPPED, chance):
        old[at], old[at + 1] = f"{old[at + 1]} ", f"{old[at]} "
    return old


def moved(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Move a sentence, and edit other words as far as the share allows."""
    start, stop = chance.randrange(len(old)), chance.randrange(len(old))
    taken = old[start : start + SENTENCE]
    del old[start : start + SENTENCE]
    old[stop:stop] = [" ", *taken, " "]
    return mixed(old, new, max(0.0, share - 6 / len(old)), chance)


def truncated(old: Words, new: Words, share: float, chance: Random) -> Words:
    """Cut a text off: the first f of it has the cosine sqrt(f) with the whole."""
    kept = max(1, round(len(old) * (1 - share) ** 2))
    return old[:kept] if chance.random() < 0.7 else old[len(old) - kept :]


def mixed(old: Words, new: Words, share: float, chance: Random) -> Words:
    for at in _places(old, share * MIXED, chance):
        old[at] = chance.choice(("", chance.choice(new), f"{old[at]} {chance.choice(new)} "))
    return old


def _places(words: Words, share: float, chance: Random) -> list[int]:
    """Choose a share of the places, different ones; a share between two numbers by chance."""
    count = int(share * len(words) + chance.random())
    return chance.sample(range(len(words)), min(count, len(words)))


Kind = Callable[[Words, Words, float, Random], Words]
EDITS: dict[Kind, float] = {
    copied: 0.1, recased: 0.05, replaced: 0.2, deleted: 0.15, inserted: 0.15, swapped: 0.1,
    moved: 0.1, truncated: 0.1, mixed: 0.05,
}  # fmt: skip
KINDS, SHARES = list(EDITS), list(EDITS.values())
