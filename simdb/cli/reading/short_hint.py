"""Short hint: a note that the documents are too short for the default threshold."""

import numpy as np

from simdb.settings.options import Options
from simdb.sources.batch import Texts
from simdb.tuning.lengths import SHORT_WORDS, count_words
from simdb.tuning.sample import TAG

# Of each batch so many texts are looked at, and the beginning of each of them.
LOOKED_AT_TEXTS = 16
LOOKED_AT_CHARACTERS = 2000
# After some batches, one of so many is looked at.
FIRST_BATCHES, LATER_BATCHES = 16, 4
# Fewer documents are no collection.
DOCUMENTS_LEAST = 10


def is_default(options: Options, similarity: float | None, distance: int | None) -> bool:
    """Return whether documents match by the default threshold; the arguments are those given."""
    return (
        similarity is None
        and distance is None
        and options.sketch.vector_bytes > 0
        and options.similarity == options.sketch.usual_similarity
    )


class ShortHint:
    """The lengths of some documents of a run, for the hint at its end."""

    def __init__(self) -> None:
        """Start without documents."""
        self._words: list[int] = []
        self._batches = 0

    def look_at(self, texts: Texts) -> None:
        """Count the words of some texts of a batch."""
        self._batches += 1
        if self._batches > FIRST_BATCHES and self._batches % LATER_BATCHES:
            return
        count = min(len(texts), LOOKED_AT_TEXTS)
        places = np.linspace(0, len(texts) - 1, count).astype(int).tolist()
        heads = [TAG.sub(" ", str(texts[at])[:LOOKED_AT_CHARACTERS]) for at in places]
        self._words += [words for words in count_words(heads).tolist() if words]

    def note(self) -> str | None:
        """Return the hint if the median document is short, or None."""
        if len(self._words) < DOCUMENTS_LEAST:
            return None
        median = float(np.median(self._words))
        if median >= SHORT_WORDS:
            return None
        noun = "word" if round(median) == 1 else "words"
        return (
            f"half of the documents have at most {median:.0f} {noun}, and the default threshold"
            " misses most near-duplicates among such short documents: simdb tune SOURCE... says"
            " which options suit them"
        )
