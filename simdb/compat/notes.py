"""Notes: the options of a database of short notes, and a comparison of their facts.

In a note of ten words, one word can turn an old fact into a new one.  So two notes say the same if
their texts are similar and their facts agree.  Facts are numbers in their order, the count of
negations, and names, which are capitalised words inside a sentence.  The words are English.  On 200
labelled pairs (tests/integrations) this finds 92 % of the equal notes with a precision of 87 %; the
default of a database finds 7 %.
"""

import re
from typing import NamedTuple

from simdb.core.options import Options, Simhash

NOTES = Options(
    sketch=Simhash(unit="characters", shingle=3), similarity=0.45, texts=True,
    keep_times="inserted",
)  # fmt: skip
# Without "one", which is usually a pronoun.
COUNTED = [
    "zero", "-", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
]  # fmt: skip
NEGATING = {"no", "not", "never", "none", "nor", "without", "cannot"}
TOKEN = re.compile(r"(?<!\S)-\d+|[\u00bc-\u00be]|\w+(?:['\u2019][^\W\d_]+)?")
NUMBER = re.compile(r"-?\d+|[\u00bc-\u00be]")
# A word after a space within a sentence, also in quotes or brackets.
INSIDE = re.compile(r"(?<=[^.!?:\s] )['\"(]?(\w+)")
# The least number of letters that can abbreviate a name: "Tue" is Tuesday.
SHORT = 3


class NoteFacts(NamedTuple):
    """The facts of a note: its numbers, count of negations, and names; and all its words."""

    numbers: list[str]
    negations: int
    names: set[str]
    words: set[str]

    @classmethod
    def of(cls, text: str) -> "NoteFacts":
        """Return the facts of a text."""
        tokens = TOKEN.findall(text.lower())
        digits = (str(COUNTED.index(each)) if each in COUNTED else each for each in tokens)
        inside = (name for name in INSIDE.findall(text) if name[0].isupper() and name != "I")
        return cls(
            [number for each in digits for number in NUMBER.findall(each)],
            sum(each in NEGATING or each.endswith(("n't", "n\u2019t")) for each in tokens),
            set() if text.isupper() else {name.lower() for name in inside},
            {re.split("['\u2019]", each)[0] for each in tokens},
        )

    def agree(self, other: "NoteFacts") -> bool:
        """Return whether two notes have the same numbers, negations and names."""
        same_counts = (self.numbers, self.negations) == (other.numbers, other.negations)
        return same_counts and self._has(other.names) and other._has(self.names)

    def _has(self, names: set[str]) -> bool:
        """Return whether each name is a word of the note, in full or abbreviated by either side."""
        return all(
            any(each.startswith(name) or name.startswith(each) for each in self.words
                if min(len(each), len(name)) >= SHORT or each == name)
            for name in names
        )  # fmt: skip
