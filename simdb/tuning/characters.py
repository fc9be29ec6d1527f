"""Characters: what the writing of some texts says about normalisation, and about noise."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Forms of other letters and digits: of Arabic, of full and half width, and ligatures.
FORMS = re.compile(
    "[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f]"
)
# Points of Hebrew and Arabic that writers mostly leave out, and the tatweel.
POINTS = re.compile("[\u05b0-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0670]")
# Letters of Turkish and Azerbaijani that no other language has.
TURKIC = re.compile("[\u0130\u0131\u011f\u011e]")
# From which share of texts on an option is advised: forms and points are seldom in all texts, but
# then some copies lack them; I is another letter only in a collection that is mostly Turkic.
FORMS_LEAST, TURKIC_LEAST = 0.01, 0.5
# Words that differ in one letter from one that is so frequent are misread or mistyped.
WORD = re.compile(r"[^\W\d_]{5,20}")
FREQUENT = 5
# Of the words of clean texts, so few look misread.
NOISE_LEAST = 0.02


@dataclass(frozen=True, slots=True)
class WritingSystem:
    """How some texts are written.

    `formed`, `pointed`, `turkic`: the shares of texts with such characters.  `noise`: the share of
    words that differ in one letter from a frequent word, and are in the texts once.
    """

    formed: float
    pointed: float
    turkic: float
    noise: float

    @property
    def options(self) -> dict[str, Any]:
        """The options of a sketch that make equal what writers write in several ways."""
        found: dict[str, Any] = {}
        if self.formed >= FORMS_LEAST:
            found["normalisation"] = "nfkc"
        if self.pointed >= FORMS_LEAST:
            found["marks"] = "drop"
        if self.turkic >= TURKIC_LEAST:
            found["turkic_case"] = True
        return found

    @property
    def is_noisy(self) -> bool:
        """Whether the texts look as if they were read by a machine from paper."""
        return self.noise >= NOISE_LEAST


def writing_of(texts: Sequence[str]) -> WritingSystem:
    """Return how some texts are written."""
    formed, pointed, turkic = (
        sum(bool(kind.search(text)) for text in texts) / len(texts)
        for kind in (FORMS, POINTS, TURKIC)
    )
    return WritingSystem(formed, pointed, turkic, _noise(texts))


def _noise(texts: Sequence[str]) -> float:
    """Return the share of words that are there once, one letter off a frequent word."""
    counts = Counter(word for text in texts for word in WORD.findall(text.lower()))
    frequent = {
        masked for word, count in counts.items() if count >= FREQUENT for masked in _masked(word)
    }
    misread = sum(
        count == 1 and not frequent.isdisjoint(_masked(word)) for word, count in counts.items()
    )
    return misread / max(counts.total(), 1)


def _masked(word: str) -> list[str]:
    """Return the word with each of its letters left open in turn."""
    return [f"{word[:at]}.{word[at + 1 :]}" for at in range(len(word))]
