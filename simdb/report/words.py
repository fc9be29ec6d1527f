"""Words: options, sizes and sections of the file as people say them."""

from simdb.report.facts import Section, Threshold
from simdb.settings.minhash import Minhash
from simdb.settings.options import Options, Simhash
from simdb.settings.text_sketch import TextSketch

UNITS = {
    "words": "words",
    "characters": "characters",
    "whitespace": "pieces between white space",
    "moz": "words of ASCII letters, as simhash-cpp does",
}
WEIGHTINGS = {
    "binary": "counts once in a document, however often it occurs",
    "set": "counts once in a document, however often it occurs",
    "bag": "counts as often as it occurs",
    "tf": "weighs as often as it occurs",
    "log-tf": "weighs a little more if it occurs more often",
    "binary-idf": "weighs more if it is rare in the collection",
    "tf-idf": "weighs as often as it occurs, and more if it is rare in the collection",
    "log-tf-idf": "weighs a little more if it occurs more often, and more if it is rare in the"
    " collection",
}
SIZE_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
TABLES, POLYTOPES = ("table/", "polytope/")
OTHER = "Everything else"


def options_in_words(options: Options) -> tuple[str, ...]:
    """Return the options of a database as sentences."""
    sketch = options.sketch
    return (_pipeline(sketch), _sketch(options), _searching(options))


def threshold_in_words(threshold: Threshold, *, is_minhash: bool) -> str:
    """Return when two documents match, as the end of a sentence after `if`."""
    parts = []
    if threshold.similarity is not None:
        measure = "Jaccard similarity" if is_minhash else "cosine similarity"
        parts.append(f"their estimated {measure} is at least {threshold.similarity:g}")
    if threshold.distance is not None:
        parts.append(f"their fingerprints differ in at most {bits(threshold.distance)}")
    return " and ".join(parts)


def bits(count: int) -> str:
    """Return a number of bits with its noun."""
    return f"{count:,} bit" if count == 1 else f"{count:,} bits"


def size(count: float) -> str:
    """Return a number of bytes with a unit of a thousand, a million or more bytes."""
    for unit_bytes, unit in SIZE_UNITS:
        if count >= unit_bytes:
            number = count / unit_bytes
            return f"{number:,.1f} {unit}" if number < 100 else f"{number:,.0f} {unit}"
    return f"{count:,.0f} bytes"


def table_group(name: str, *, is_minhash: bool) -> str:
    """Return the name of the tables of which a sub-database is one."""
    if name.startswith(POLYTOPES):
        return "Cross-polytope tables"
    return "Band tables" if is_minhash else "Permutation tables"


def sections_in_words(sizes: dict[str, int], *, is_minhash: bool) -> tuple[Section, ...]:
    """Return the bytes of sub-databases by what they are for, the most bytes first."""
    names = {
        "ids": "Table of ids",
        "documents": "Ids and signature states" if is_minhash else "Ids and fingerprints",
        "volatility": "Signatures" if is_minhash else "Weights",
        "delta": "Recent documents",
        "metadata": "Metadata",
        "clusters": "Kept clusters",
    }
    totals: dict[str, int] = {}
    for name, count in sizes.items():
        shown = names.get(name, OTHER)
        if name.startswith((TABLES, POLYTOPES)):
            shown = table_group(name, is_minhash=is_minhash)
        totals[shown] = totals.get(shown, 0) + count
    ordered = sorted(totals.items(), key=lambda each: (-each[1], each[0]))
    return tuple(Section(name, count) for name, count in ordered if count)


def _pipeline(sketch: TextSketch) -> str:
    """Return how a text becomes features."""
    steps = []
    if sketch.markup == "html":
        steps.append("the visible text of an HTML page is taken")
    if sketch.normalisation != "none":
        steps.append(f"characters are normalised ({sketch.normalisation.upper()})")
    if sketch.clean:
        steps.append("what is not seen is dropped")
    if sketch.marks != "keep":
        steps.append("accents and points are dropped")
    cut = f"the tokeniser {sketch.tokeniser}" if sketch.tokeniser else UNITS[sketch.unit]
    steps.append(f"texts are cut into {cut}" if not sketch.tokeniser else f"texts are cut by {cut}")
    if sketch.lowercase:
        steps.append("letters become lower case")
    if sketch.stop_words:
        known = isinstance(sketch.stop_words, str)
        steps.append(f"stop words are left out ({sketch.stop_words if known else 'own list'})")
    if sketch.stemming:
        steps.append(f"words are stemmed ({sketch.stemming})")
    whole = ", ".join(steps)
    shingle = "each of them is a feature"
    if sketch.shingle > 1:
        shingle = f"each {sketch.shingle} in a row are a feature"
    return f"{whole[0].upper()}{whole[1:]}; {shingle}, which {WEIGHTINGS[sketch.weighting]}."


def _sketch(options: Options) -> str:
    """Return what is stored of a document."""
    sketch = options.sketch
    if isinstance(sketch, Minhash):
        return (
            f"Of each document a MinHash signature of {sketch.permutations} minima is stored,"
            f" {sketch.stored_bits} bits each, in {options.bands} bands of {options.rows}."
        )
    text = "Of each document a fingerprint of 64 bits is stored"
    if isinstance(sketch, Simhash) and sketch.vector_bytes:
        text += (
            f", and {sketch.dimensions} weights of 4 bits each, by which similarity is estimated"
        )
    return f"{text}; texts are not stored."


def _searching(options: Options) -> str:
    """Return the defaults of queries."""
    recall = f"a search finds {100 * options.recall:.4g}% of the matches"
    similarity = f"at an estimated similarity of {options.similarity:g} or more"
    if options.is_minhash:
        return f"By default, documents match {similarity}, and {recall}."
    distance = f"up to {options.distance} differing bits"
    if not options.sketch.vector_bytes:
        return f"By default, documents match with {distance}, and {recall}."
    return (
        f"By default, documents with weights match {similarity}, ready fingerprints with"
        f" {distance}, and {recall}."
    )
