"""Which features find copies that a machine has misread from paper, and does `tune` choose them?

Each text is read twice, each time with its own errors, as two newspapers print one story: a share
of its letters is replaced, lost, or followed by a letter or a blank too many, and the same share
of its blanks is lost, so that words are split and merged.  All pairs are compared, so that features
are judged and not a search: by the exact Jaccard similarity, by what MinHash signatures of 128
minima of 8 bits estimate, and by what the default's vectors do.  F1 is at the best threshold for
each.  The rows "tune" follow the advice of `simdb.tune`, its threshold included.
"""

from random import Random

import numpy as np

import simdb
from corpus import Couple, couple, curve, f1, read_corpus
from record import Record, options

SHARES = (0.02, 0.05, 0.10)
LETTERS = "abcdefghijklmnopqrstuvwxyz.,"
UNLIKE = 0.3  # texts that are more similar than this are not both taken
WORDS_LEAST, WORDS_MOST = 100, 400
SETTINGS = {
    "words 1": {"shingle": 1},
    "words 2": {"shingle": 2},
    "words 3 (default)": {},
    "characters 3": {"unit": "characters", "shingle": 3},
    "characters 4": {"unit": "characters", "shingle": 4},
    "characters 5": {"unit": "characters", "shingle": 5},
    "characters 8": {"unit": "characters", "shingle": 8},
}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("corpus", help="JSON lines with id and text, gzipped or not")
    parser.add_argument("--texts", type=int, default=300)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    originals = unlike(read_corpus(arguments.corpus)[1], arguments.texts)
    for share in SHARES:
        chance = Random(f"{arguments.seed} {share}")
        texts = [misread(text, share, chance) for text in originals for _ in range(2)]
        truth = {couple(at, at + 1) for at in range(0, len(texts), 2)}
        for name, settings in SETTINGS.items():
            for measure, values in similarities(texts, settings).items():
                add(record, f"{share:.0%}, {name}, {measure}", values, truth, len(texts))
        add_advised(record, share, texts, truth)
    record.finish()


def unlike(texts: list[str], count: int) -> list[str]:
    """Return texts of the right length of which no two are alike."""
    fitting = [text for text in texts if WORDS_LEAST <= len(text.split()) <= WORDS_MOST]
    kept = simdb.deduplicate(fitting, similarity=UNLIKE).data
    return kept[:count]


def misread(text: str, share: float, chance: Random) -> str:
    """Return a text with errors in a share of its characters."""
    read = []
    for letter in " ".join(text.split()):
        if chance.random() >= share:
            read.append(letter)
        elif letter == " ":
            continue  # two words become one
        else:
            other = chance.choice(LETTERS)
            # Replaced, lost, one more, or a word is split.
            read.append(chance.choice((other, "", letter + other, letter + " ")))
    return "".join(read)


def similarities(texts: list[str], settings: dict) -> dict[str, np.ndarray]:
    """Return the similarity of each pair, in the order of numpy.triu_indices, by each measure."""
    left, right = (side.astype(np.int64) for side in np.triu_indices(len(texts), 1))
    exact = simdb.sketch.exact_similarity.ExactSimilarity(simdb.Simhash(**settings), (), ())
    return {
        "exact": exact.of_pairs(texts, left, right),
        "MinHash": estimated(texts, simdb.Minhash(**settings, stored_bits=8), left, right),
        "vectors": estimated(texts, simdb.Simhash(**settings), left, right),
    }


def estimated(texts: list[str], sketch, left, right) -> np.ndarray:
    """Return what the sketches of the pairs estimate."""
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(len(texts)), texts)
        return database.compare(left, right).similarity


def add(record: Record, what: str, values: np.ndarray, truth: set[Couple], count: int) -> None:
    """Add F1 at the best threshold."""
    left, right = np.triu_indices(count, 1)
    may = np.flatnonzero(values > 0.02)
    found = [couple(*each) for each in zip(left[may].tolist(), right[may].tolist(), strict=True)]
    made = curve(found, values[may].astype(np.float64), truth)
    at = made.best()
    record.add(what, float(made.f1[at]), "F1", note=f"from {made.thresholds[at]:.2f} on")


def add_advised(record: Record, share: float, texts: list[str], truth: set[Couple]) -> None:
    """Add F1 of what `simdb.tune` advises for these texts, as `deduplicate` follows it."""
    advice = simdb.tune(texts)
    result = simdb.deduplicate(texts, options=advice.options, policy="connected")
    found = {
        couple(one, other)
        for group in result.groups
        for at, one in enumerate(group.ids)
        for other in group.ids[at + 1 :]
    }
    sketch = advice.options.sketch
    note = f"{sketch.unit} {sketch.shingle}, similarity {advice.options.similarity:.2f}"
    record.add(f"{share:.0%}, tune", f1(truth, found), "F1", note=note)


if __name__ == "__main__":
    main()
