"""How much of F1 is lost because 128 weights of 4 bits only estimate a cosine?

Computes the exact cosine of the same weighted features, by sparse products of all documents, and
judges it as `weighting.py` judges the estimate.  Needs scipy.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

import simdb
from corpus import MEASURES
from record import Record, options
from simdb.running import kernel
from weighting import FLOOR, ROWS, STEPS, Corpus, add_curves, read_corpora, steps_of

SETTINGS = {
    "words 3, tf": simdb.Simhash(weighting="tf"),
    "words 3, log-tf": simdb.Simhash(weighting="log-tf"),
    "words 3, binary": simdb.Simhash(weighting="binary"),
    "words 1, tf-idf": simdb.Simhash(shingle=1, weighting="tf-idf"),
}

I64 = npt.NDArray[np.int64]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="the folder for weighting.py")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for corpus in read_corpora(arguments.folder, arguments.only):
        for label, settings in SETTINGS.items():
            units = unit_vectors(corpus.texts, settings)
            found = histogram_of_all(units)
            scores = between(units, corpus)
            for measure, (_, least) in MEASURES.items():
                is_true = corpus.known[measure] >= least
                add_curves(record, f"{corpus.name}: {label}, {measure}", found, scores[is_true], {
                    "corpus": corpus.name, "setting": label, "exact": measure,
                    "pairs": int(is_true.sum()),
                })  # fmt: skip
    record.finish()


def unit_vectors(texts: list[str], settings: simdb.Simhash) -> sparse.csr_matrix:
    """Make one row for each document, of length 1, or 0 for a document without features."""
    offsets, hashes, counts = kernel.count_texts(
        texts,
        unit=settings.unit,
        shingle=settings.shingle,
        lowercase=settings.lowercase,
        seed=settings.seed,
        replace=False,
        start=0,
    )
    features, columns, frequencies = np.unique(hashes, return_inverse=True, return_counts=True)
    weights = {
        "binary": np.ones(len(counts)),
        "tf": counts.astype(np.float64),
        "log-tf": 1 + np.log(counts),
    }[settings.weighting.removesuffix("-idf").replace("tf-idf", "tf")]
    if settings.uses_idf:
        weights *= (np.log((1 + len(texts)) / (1 + frequencies)) + 1)[columns]
    shape = (len(texts), len(features))
    matrix = sparse.csr_matrix((weights, columns, offsets), shape=shape)
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_matrix(sparse.diags(inverse) @ matrix)


def histogram_of_all(units: sparse.csr_matrix) -> I64:
    """Count the pairs by similarity, in steps; pairs below FLOOR are not counted."""
    turned = units.T.tocsr()
    counts = np.zeros(STEPS + 1, np.int64)
    for start in range(0, units.shape[0], ROWS):
        block = (units[start : start + ROWS] @ turned).tocoo()
        is_counted = (block.col > block.row + start) & (block.data >= FLOOR)
        steps = steps_of(block.data[is_counted].astype(np.float32))
        counts += np.bincount(steps, minlength=STEPS + 1)
    return counts


def between(units: sparse.csr_matrix, corpus: Corpus) -> npt.NDArray[np.float32]:
    products = units[corpus.left].multiply(units[corpus.right]).sum(axis=1)
    return np.asarray(products, np.float32).ravel()


if __name__ == "__main__":
    main()
