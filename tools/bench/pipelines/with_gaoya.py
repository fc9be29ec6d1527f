"""Groups near-duplicates with gaoya, which cuts the texts itself and uses every core it may.

Its index is filled with all texts and then queried with each of them.
"""

import sys
from collections.abc import Iterator

from gaoya.minhash import MinHashStringIndex
from groups import PERMUTATIONS, SIMILARITY, print_groups, read_batches


def main() -> None:
    names: list[str] = []
    found = list(pairs(sys.argv[1], names))
    print_groups(names, found)


def pairs(path: str, names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of documents; `names` receives the ids."""
    index = MinHashStringIndex(
        hash_size=32, jaccard_threshold=SIMILARITY, num_bands=16, band_size=PERMUTATIONS // 16,
        analyzer="word", lowercase=True, ngram_range=(3, 3), id_container="smallvec",
    )  # fmt: skip
    for ids, texts in read_batches(path):
        index.par_bulk_insert_docs(list(range(len(names), len(names) + len(ids))), texts)
        names += ids
    at = 0
    for _, texts in read_batches(path):
        for found in index.par_bulk_query(texts):
            for other in found:
                yield at, other
            at += 1


if __name__ == "__main__":
    main()
