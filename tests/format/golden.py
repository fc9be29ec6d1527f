"""Golden fingerprints and signatures: what texts of many scripts have become under many options.

The values in golden.json never change, or databases would no longer match their documents.  Texts
are added to that file by hand, and sets of options here.  Run as a program, this adds the missing
fingerprints; it writes nothing if a stored fingerprint differs from today's.
"""

import json
import sys
import zlib
from functools import partial
from pathlib import Path

import mmh3
import numpy as np

import simdb
from simdb.core.arrays import EMPTY
from simdb.core.text_sketch import WEIGHT_BITS, IdfTable, directory_bits, idf_weight
from simdb.core.vector_form import pack_minima
from simdb.sketch.minhash_sketcher import MinHashSketcher
from simdb.sketch.sketcher import Sketcher

STORED = Path(__file__).parent / "golden.json"

STOP_WORDS = ("the", "on", "over", "and", "a", "\u7684", "\u662f")

# The number of documents, of 1000, that have each word; every other word is in one document.
DOCUMENTS = 1000
FREQUENCIES = {
    "the": 990, "and": 900, "\u5317": 300, "dog": 120, "again": 55, "quick": 40, "fox": 7,
}  # fmt: skip

# Every set that is not called spaceless cuts words as the first versions did.
as_first = {"by_character": "cjk", "normalisation": "none", "clean": False}
simhash = partial(simdb.Simhash, **as_first)
shifting = partial(simdb.Minhash, family="multiply-shift")
minhash = partial(shifting, **as_first)
spaceless = partial(simdb.Simhash, normalisation="none", clean=False)


def idf_table(sketch):
    """Make a table of a few words, for a sketch of single words with seed 0."""
    entries = sorted(
        mmh3.hash64(word.encode(), 0, signed=False)[0] >> WEIGHT_BITS << WEIGHT_BITS
        | idf_weight(DOCUMENTS, frequency)
        for word, frequency in FREQUENCIES.items()
    )
    bits = directory_bits(len(entries))
    directory = [sum(entry >> 64 - bits < slot for entry in entries) for slot in range(2**bits + 1)]
    return IdfTable(
        np.array(entries, np.uint64),
        np.array(directory, np.uint32),
        idf_weight(DOCUMENTS, 1),
        DOCUMENTS,
        sketch.feature_settings,
    )


def with_idf(*, weighting, **options):
    """Make a sketch of single words weighted by that table."""
    table = idf_table(simhash(shingle=1, **options))
    return simhash(shingle=1, weighting=weighting, idf=table, **options)


def features(text):
    """Make a feature for each character; later characters weigh less."""
    codes = np.array([ord(character) for character in text], np.uint64)
    weights = np.array([1 / (1 + place) for place in range(len(text))], np.float32)
    return simdb.Features(codes * np.uint64(0x9E3779B97F4A7C15), weights)


def dense(text):
    """Count the characters of a text, in thirds, by their codes modulo 61."""
    vector = [0.0] * 61
    for character in text:
        vector[ord(character) % 61] += 1 / 3
    return np.array(vector)


def hashes(text):
    """Make a feature for each character, without weights."""
    return simdb.Features(features(text).hashes)


def same(text):
    """Return the text itself."""
    return text


# The function that makes a document from a text, and the options of its sketch.
SETS = {
    "words 1": (same, simhash(weighting="tf", shingle=1)),
    "words 3": (same, simhash(weighting="tf")),
    "words 5": (same, simhash(weighting="tf", shingle=5)),
    "words 3, case kept": (same, simhash(weighting="tf", lowercase=False)),
    "words 3, seed": (same, simhash(weighting="tf", seed=0xDEADBEEF)),
    "words 2, 64 dimensions": (same, simhash(weighting="tf", shingle=2, dimensions=64)),
    "words 2, 256 weights": (same, simhash(weighting="tf", shingle=2, dimensions=256)),
    "words 3, log-tf, 256 weights": (same, simhash(weighting="log-tf", dimensions=256)),
    "features, 256 weights": (features, simhash(dimensions=256)),
    "dense vector, 256 weights": (dense, simhash(vector_length=61, dimensions=256)),
    "words 2, NFC": (same, simhash(weighting="tf", shingle=2, normalisation="nfc")),
    "words 2, NFKC": (same, simhash(weighting="tf", shingle=2, normalisation="nfkc")),
    "characters 1": (same, simhash(weighting="tf", unit="characters", shingle=1)),
    "characters 5": (same, simhash(weighting="tf", unit="characters", shingle=5)),
    "whitespace 2": (same, simhash(weighting="tf", unit="whitespace", shingle=2)),
    "bytes": (str.encode, simhash(weighting="tf")),
    "tokens 2": (str.split, simhash(weighting="tf", shingle=2)),
    "features": (features, simhash()),
    "dense vector": (dense, simhash(vector_length=61)),
    "dense vector, seed": (dense, simhash(seed=7)),
    "words 3, binary": (same, simhash(weighting="binary")),
    "characters 5, binary": (
        same,
        simhash(unit="characters", shingle=5, weighting="binary"),
    ),
    "words 3, log-tf": (same, simhash(weighting="log-tf")),
    "words 1, tf-idf": (same, with_idf(weighting="tf-idf")),
    "words 1, binary-idf": (same, with_idf(weighting="binary-idf")),
    "words 1, log-tf-idf": (same, with_idf(weighting="log-tf-idf")),
    "characters 5, log-tf": (
        same,
        simhash(unit="characters", shingle=5, weighting="log-tf"),
    ),
    "words 3, stop words": (same, simhash(weighting="tf", stop_words=STOP_WORDS)),
    "words 1, stems": (same, simhash(weighting="tf", shingle=1, stemming="english")),
    "tokens 2, stop words, stems": (
        str.split,
        simhash(weighting="tf", shingle=2, stop_words=STOP_WORDS, stemming="english"),
    ),
    "stop words, stems, tf-idf": (
        same,
        with_idf(stop_words=STOP_WORDS, stemming="english", weighting="tf-idf"),
    ),
    "HTML, words 3": (same, simhash(weighting="tf", markup="html")),
    "HTML, words 3, links": (
        same,
        simhash(weighting="tf", markup="html", html_title=False, html_links=True),
    ),
    "moz": (same, simdb.Simhash.moz()),
    "moz 5": (same, simdb.Simhash.moz(window=5)),
    "minhash": (same, minhash()),
    "minhash, seed": (same, minhash(seed=0xDEADBEEF)),
    "minhash, characters 5, 8 bits": (
        same,
        minhash(unit="characters", shingle=5, permutations=256, stored_bits=8),
    ),
    "minhash, tokens 2, bag": (str.split, minhash(shingle=2, weighting="bag")),
    "minhash, features": (hashes, minhash()),
    "minhash, features of 32 bits": (same, minhash(feature_bits=32)),
    "minhash, mersenne": (same, minhash(family="mersenne")),
    "minhash, mersenne, features of 32 bits": (
        same,
        minhash(family="mersenne", feature_bits=32),
    ),
    "minhash, one permutation": (same, minhash(family="one-permutation")),
    "minhash, tf": (same, minhash(weighting="tf", permutations=64)),
    "minhash, features, tf": (features, minhash(weighting="tf", permutations=64)),
    "minhash, words 1, tf-idf": (
        same,
        minhash(
            shingle=1,
            weighting="tf-idf",
            idf=idf_table(simhash(shingle=1)),
            permutations=64,
        ),
    ),
    "spaceless words 1": (same, spaceless(weighting="tf", shingle=1)),
    "spaceless words 3": (same, spaceless()),
    "spaceless words 2, stop words": (same, spaceless(shingle=2, stop_words=STOP_WORDS)),
    "minhash, spaceless words": (same, shifting(normalisation="none", clean=False)),
    "cleaned words 3": (same, simdb.Simhash(edition=1)),
    "cleaned words 1": (same, simdb.Simhash(weighting="tf", shingle=1, edition=1)),
    "cleaned words 2, case kept": (same, simdb.Simhash(shingle=2, lowercase=False, edition=1)),
    "lenient words 2": (same, simdb.Simhash(shingle=2, normalisation="lenient", edition=1)),
    "minhash, cleaned characters 5": (same, shifting(unit="characters", shingle=5, edition=1)),
    "minhash, Turkic words": (same, shifting(turkic_case=True, edition=1)),
    "minhash, stratified": (same, simdb.Minhash(edition=1)),
    "minhash, stratified, 104 of 8 bits": (
        same,
        simdb.Minhash(permutations=104, stored_bits=8, edition=1),
    ),
    "minhash, stratified, features of 32 bits": (same, simdb.Minhash(feature_bits=32, edition=1)),
    "minhash, stratified, 512 of 1 bit": (same, simdb.Minhash(permutations=512, stored_bits=1)),
    "minhash, stratified, 256 of 2 bits": (same, simdb.Minhash(permutations=256, stored_bits=2)),
    "minhash, one permutation, 72 of 2 bits, bag": (
        same,
        simdb.Minhash(permutations=72, stored_bits=2, family="one-permutation", weighting="bag"),
    ),
    "words 3, second edition": (same, simdb.Simhash()),
    "lenient words 1, second edition": (same, simdb.Simhash(shingle=1, normalisation="lenient")),
}


def fingerprint(name, text):
    """Return bits and checksum of the stored vector, of one text under one set of options.

    For a signature, return the first minimum and the checksum of all minima.
    """
    make, options = SETS[name]
    if isinstance(options, simdb.Minhash):
        return signature(options, make(text))
    sketches = Sketcher(options).sketch([make(text)])
    if sketches.states[0] == EMPTY:
        return "empty"
    return f"{int(sketches.bits[0]):016x} {zlib.crc32(sketches.vectors[0].tobytes()):08x}"


def signature(options, document):
    """Return the first minimum of a document's signature and the checksum of its stored form."""
    signatures = MinHashSketcher(options).signatures([document])
    if signatures.is_empty[0]:
        return "empty"
    packed = pack_minima(signatures.minima, options.stored_bits)
    return f"{int(signatures.minima[0, 0]):08x} {zlib.crc32(packed.tobytes()):08x}"


def made(texts):
    """Compute the fingerprints of golden.json with today's code."""
    return {
        name: {title: fingerprint(name, text) for title, text in texts.items()} for name in SETS
    }


def differing(stored, today):
    """Return the places where a stored fingerprint is missing or different today."""
    return [
        f"{name}: {title}"
        for name, found in stored.items()
        for title in found
        if found[title] != today.get(name, {}).get(title)
    ]


def main():
    stored = json.loads(STORED.read_text())
    today = made(stored["texts"])
    places = differing(stored["fingerprints"], today)
    if places:
        sys.exit("these have changed, and golden fingerprints never do:\n" + "\n".join(places))
    whole = {"texts": stored["texts"], "fingerprints": today}
    STORED.write_text(json.dumps(whole, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
