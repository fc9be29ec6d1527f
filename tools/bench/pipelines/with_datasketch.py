"""Groups near-duplicates with datasketch; candidates are measured by their signatures."""

import sys
from collections.abc import Iterator

from datasketch import MinHash, MinHashLSH
from groups import PERMUTATIONS, SIMILARITY, print_groups, read_batches, shingles


def main() -> None:
    names: list[str] = []
    found = list(pairs(sys.argv[1], names))
    print_groups(names, found)


def pairs(path: str, names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of a document and an earlier one; `names` receives the ids."""
    index = MinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS)
    signatures: list[MinHash] = []
    for ids, texts in read_batches(path):
        tokens = [[token.encode() for token in shingles(text)] for text in texts]
        for name, signed in zip(ids, MinHash.bulk(tokens, num_perm=PERMUTATIONS), strict=True):
            at = len(signatures)
            for other in index.query(signed):
                if signed.jaccard(signatures[other]) >= SIMILARITY:
                    yield other, at
            index.insert(at, signed, check_duplication=False)
            signatures.append(signed)
            names.append(name)


if __name__ == "__main__":
    main()
