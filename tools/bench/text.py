"""How many megabytes of text a second become fingerprints, through the API and in the kernel?"""

import argparse
import re
from collections.abc import Callable

import simdb
from record import Record, in_turns, missing, number, options
from simdb import kernel
from simdb.sketch.sketcher import Sketcher
from workload import pieces

try:
    from gaoya import gaoya
except ImportError:
    gaoya = None
try:
    import simhash
except ImportError:
    simhash = None

PEER_MEGABYTES = 2.0


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--megabytes", type=float, default=30.0, help="text to take, of UTF-8")
    parser.add_argument("-n", type=number, default=0, help="documents at most; 0: no limit")
    parser.add_argument(
        "--files", nargs="*", default=[], help="files or folders; default: the Python installed"
    )
    parser.add_argument("--shingles", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--all-variants", action="store_true", help="every variant of the kernel")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    texts = pieces(arguments.files, arguments.megabytes)[: arguments.n or None]
    size = size_of(texts)
    record.add(
        "text taken", size, "MB", note=f"{len(texts)} documents, {ascii_share(texts):.0%} ASCII"
    )
    few = texts[: max(1, int(len(texts) * PEER_MEGABYTES / max(size, PEER_MEGABYTES)))]
    for shingle in arguments.shingles:
        tasks = own_tasks(texts, shingle) | peer_tasks(few, shingle)
        for name, timing in in_turns(tasks, arguments.repeats).items():
            taken = size if name.startswith("simdb") else size_of(few)
            record.add_rate(f"shingles of {shingle}: {name}", taken, "MB/s", timing)
        if arguments.all_variants:
            variants(record, arguments, texts, shingle)
    record.finish()


def own_tasks(texts: list[str], shingle: int) -> dict[str, Callable[[], object]]:
    """simdb's stages, from the kernel up."""
    settings = simdb.Simhash(shingle=shingle)
    sketcher = Sketcher(settings)
    raw = [text.encode() for text in texts]
    return {
        "simdb kernel.project_texts": lambda: project(texts, shingle),
        "simdb Sketcher.sketch, as insert_many does": lambda: sketcher.sketch(texts),
        "simdb.fingerprints": lambda: simdb.fingerprints(texts, settings),
        "simdb.fingerprints of bytes": lambda: simdb.fingerprints(raw, settings),
    }


def peer_tasks(texts: list[str], shingle: int) -> dict[str, Callable[[], object]]:
    """Peers, on a smaller part of the text since they are slow."""
    tasks: dict[str, Callable[[], object]] = {}
    if gaoya is None:
        missing("gaoya")
    else:
        index = gaoya.simhash.SimHash64StringIntIndex(
            6, 3, analyzer="word", lowercase=True, ngram_range=(shingle, shingle)
        )
        tasks["gaoya tokenize_and_simhash"] = lambda: [
            index.tokenize_and_simhash(text) for text in texts
        ]
    if simhash is None:
        missing("simhash-pybind")
    else:
        tasks["simhash-pybind, shingles in Python, md5"] = lambda: [
            pybind_fingerprint(text, shingle) for text in texts
        ]
    return tasks


def pybind_fingerprint(text: str, shingle: int) -> int:
    """As its documentation shows."""
    tokens = re.findall(r"\w+", text.lower())
    grams = simhash.shingle(tokens, shingle)
    return simhash.compute([simhash.unsigned_hash(" ".join(gram).encode()) for gram in grams])


def variants(record: Record, arguments: argparse.Namespace, texts: list[str], shingle: int) -> None:
    """The kernel alone, in each variant of the processor."""
    size = size_of(texts)
    for variant in kernel.variants():
        kernel.select(variant)
        timing = in_turns({variant: lambda: project(texts, shingle)}, arguments.repeats)[variant]
        record.add_rate(f"shingles of {shingle}: kernel, {variant}", size, "MB/s", timing)
    kernel.select(kernel.variants()[-1])


def project(texts: list[str], shingle: int) -> object:
    return kernel.project_texts(
        texts, unit="words", shingle=shingle, lowercase=True, seed=0, replace=False, start=0
    )


def size_of(texts: list[str]) -> float:
    """Megabytes of UTF-8."""
    return sum(len(text.encode()) for text in texts) / 1e6


def ascii_share(texts: list[str]) -> float:
    return sum(text.isascii() for text in texts) / max(len(texts), 1)


if __name__ == "__main__":
    main()
