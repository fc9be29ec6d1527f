"""Groups near-duplicates with rensa; candidates are measured by their signatures."""

import sys
from collections.abc import Iterator

from groups import PERMUTATIONS, SIMILARITY, print_groups, read_batches, shingles
from rensa import RMinHash, RMinHashLSH

BANDS = 16  # of 8 minima, as its documentation has it for a similarity of 0.8
SEED = 42


def main() -> None:
    names: list[str] = []
    found = list(pairs(sys.argv[1], names))
    print_groups(names, found)


def pairs(path: str, names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of a document and an earlier one; `names` receives the ids."""
    index = RMinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS, num_bands=BANDS)
    signatures: list[RMinHash] = []
    for ids, texts in read_batches(path):
        signed = RMinHash.from_token_sets(list(map(shingles, texts)), PERMUTATIONS, SEED)
        index.insert_many(signed, len(names))
        signatures += signed
        for at, found in enumerate(index.query_all(signed), len(names)):
            for other in found:
                if other < at and signatures[at].jaccard(signatures[other]) >= SIMILARITY:
                    yield other, at
        names += ids


if __name__ == "__main__":
    main()
