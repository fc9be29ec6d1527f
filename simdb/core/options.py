"""Options of a database: checked once, stored when it is created, compared when it is opened.

Every option that changes a fingerprint or the stored bytes is here.  Settings of one process
(durability, size of the map, timeout) are not stored; they are arguments of `simdb.open`.  A
`Search` has the settings of one search, for experts who want to overrule the planner.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, cast, get_args

from simdb.core import choices, scales
from simdb.core.bits import FINGERPRINT_BITS, HASH_BITS_MOST, HASH_BITS_STEP
from simdb.core.checks import chosen_words, field_names, is_whole, one_of, share, shown, whole
from simdb.core.errors import OptionError
from simdb.core.foreign import answering
from simdb.core.text_sketch import IdfTable, TextSketch, TokenHash, differing_options, written
from simdb.core.values import InitVar, dataclass, fields
from simdb.core.vector_form import DIMENSIONS, width

FAMILIES = STRATIFIED, MULTIPLY_SHIFT, MERSENNE, ONE_PERMUTATION = (
    "stratified", "multiply-shift", "mersenne", "one-permutation",
)  # fmt: skip
# simdb reads these signatures of datasketch, but cannot make them from texts.
READY_FAMILIES = (
    "datasketch-affine32", "datasketch-legacy", "datasketch-affine64", "datasketch-weighted",
)  # fmt: skip
SETS = SET, BAG = ("set", "bag")
PERMUTATIONS_LEAST, PERMUTATIONS_MOST = 1, 1024
PERMUTATIONS_STEP = 8  # minima that the kernel makes at a time
STORED_BITS = (1, 2, 8, 32)
FEATURE_BITS = (32, 64)
SKETCH_BYTES = (32, 64, 128, 256)
USUAL_RECALL, CONVERTED_DIGITS = 0.95, 3  # three digits turn the cosine .889 into .8 and back
NOT_KEPT, BY_DISTANCE, BY_SIMILARITY = get_args(choices.ClustersName)
NO_TIMES, INSERTED, SEEN = get_args(choices.TimesName)
AUTO, EXHAUSTIVE, BPHS, PSM, MULTIPROBE, POLYTOPE, ROTATION, BANDING = (
    "auto", "exhaustive", "bphs", "psm", "multiprobe", "polytope", "rotation", "banding",
)  # fmt: skip
PROBING_METHODS = (PSM, MULTIPROBE)  # the weights of a query choose their probes
METHODS = (AUTO, EXHAUSTIVE, BPHS, *PROBING_METHODS, POLYTOPE, ROTATION)
MINHASH_METHODS = (AUTO, EXHAUSTIVE, BANDING)
VECTOR_LENGTH_MAX = 2**31 - 1
# At -4, a directory takes under a quarter of a byte a document; a header has 16-32 entries.
HEADER_OFFSET_LEAST, USUAL_HEADER_OFFSET = -4, -1
TABLES_MAX = 64  # more tables are of no use: C(8, 4) is 70
POLYTOPES_MAX = 16
USUAL_POLYTOPES = 4
UNITS = DOCUMENT, PARAGRAPH, LINE, SENTENCE = get_args(choices.PartName)
MIN_WORDS_MOST = 1 << 20
_OF_SKETCH: Any = None
# Defaults of block permutations.  Queries with weights need one table only.
USUAL_BLOCKS, WEIGHTED_BLOCKS, USUAL_LEADING, USUAL_DISTANCE = 4, 1, 1, 3
# Defaults of hashes: the bits of a block, and PDQ's distance of 31 of 256 bits.
HASH_BLOCK_BITS = 16
PDQ_DISTANCE, PDQ_BITS = 31, 256
HASH_METHODS = (AUTO, EXHAUSTIVE, BPHS)
NO_SIMILARITY = (
    "similarity= does not apply to hashes, which match by the bits in which they differ; use"
    " distance="
)
PERMUTED = ("blocks", "leading", "distance")
BANDED = ("bands", "rows")


@answering
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Minhash(TextSketch):
    """The options of a MinHash signature.

    The share of minima in which two signatures agree estimates the similarity of their documents.
    A text goes through the steps of `TextSketch`.

    Parameters
    ----------
    markup : {"none", "html"}, default "none"
        Whether pages of HTML are given; see `TextSketch`.
    html_title : bool, default True
        Whether the title of a page counts; see `TextSketch`.
    html_links : bool, default False
        Whether the targets of links count; see `TextSketch`.
    html_weights : dict or tuple of str, optional
        How often the text of some elements counts; see `TextSketch`.
    normalisation : {"none", "nfc", "nfkc", "lenient"}, default "nfc"
        The Unicode form; see `TextSketch`.
    marks : {"keep", "drop"}, default "keep"
        Whether accents and points count; see `TextSketch`.
    clean : bool, default True
        Whether invisible characters are removed; see `TextSketch`.
    unit : {"words", "characters", "whitespace"}, default "words"
        How texts are cut; see `TextSketch`.
    by_character : {"spaceless", "cjk"}, optional
        Scripts that are cut into characters; see `TextSketch`.
    tokeniser : str, optional
        Name of a function that cuts texts; see `TextSketch`.
    lowercase : bool, default True
        Whether case is folded; see `TextSketch`.
    turkic_case : bool, default False
        Whether I is the capital of the dotless i; see `TextSketch`.
    stop_words : str or tuple of str, optional
        Tokens to drop; see `TextSketch`.
    stemming : str, optional
        Language of the stems; see `TextSketch`.
    shingle : int, default 3
        Number of consecutive tokens in a feature; see `TextSketch`.
    weighting : {"set", "bag", "tf", "tf-idf"}, default "set"
        How much a feature counts:

        * "set": each distinct feature counts once; the measure is the Jaccard similarity.
        * "bag": each further occurrence of a feature counts as a new feature.
        * "tf": a feature weighs the number of its occurrences; "tf-idf" multiplies that by its
          weight in `idf`.  The similarity is sum min / sum max of the weights, by consistent
          weighted sampling (Ioffe 2010), which takes many times longer.
    idf : IdfTable, optional
        Weights of features, made by `fit_idf`; see `TextSketch`.
    edition : {0, 1, 2}, default 0
        Edition of the rules for texts; see `TextSketch`.
    seed : int, default 0
        The seed of the feature hash and of the permutations.
    permutations : int, default 128
        Number of minima, 1 to 1024; multiples of 8 take least time.  The standard error of an
        estimate is up to 0.5 / sqrt(permutations).
    stored_bits : {32, 8, 2, 1}, default 32
        Bits of each stored minimum.  Two minima of b bits agree by chance once in 2^b (Li & Koenig
        2010); estimates allow for that.  With 1 or 2 bits, `permutations` must be a multiple of 8.
        In the same bytes, 4 n minima of 2 bits estimate better than n minima of 8 bits
        (docs/QUALITY.md).
    family : str, default "stratified"
        The family of permutations: "stratified", "multiply-shift", "mersenne", "one-permutation" or
        a family of datasketch; see Notes.
    feature_bits : {64, 32}, default 64
        Bits of a hash that tell features apart.

    Raises
    ------
    OptionError
        If a value is impossible, or contradicts another one.

    Notes
    -----
    The families are:

    * "stratified": the permutations give one feature evenly spaced values; its hash decides their
      start and order.  Every feature is then small in about the same number of permutations, so
      estimates vary less.  Relative to independent permutations, the standard error is 3/4 for
      texts of up to 100 features, and 9/10 for 500 features.
    * "multiply-shift": (a x + b) mod 2^32 (Dietzfelbinger et al. 1997).  Here x is one half of a
      hash for even permutations and the other half for odd ones.
    * "mersenne": (a x + b) mod 2^61 - 1 (Carter & Wegman 1979).
    * "one-permutation": one hash of each feature chooses one of `permutations` bins (Li, Owen &
      Zhang 2012).  A bin without a feature takes the minimum of another bin (Shrivastava 2017).
      This is faster for many permutations, and less exact for documents with fewer features than
      bins.  It does not apply to "tf" and "tf-idf".
    * "datasketch-affine32", "datasketch-legacy", "datasketch-affine64" and "datasketch-weighted":
      signatures come from `simdb.compat.datasketch` as `Signature` objects; texts are refused.
    """

    weighting: choices.MinhashWeightingName = "set"
    permutations: int = 128
    stored_bits: int = 32
    family: choices.FamilyName = "stratified"
    feature_bits: int = 64

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        self._check_steps()
        whole("permutations", self.permutations, PERMUTATIONS_LEAST, PERMUTATIONS_MOST)
        one_of("stored_bits", self.stored_bits, STORED_BITS)
        if self.stored_bits < 8 and self.permutations % PERMUTATIONS_STEP:
            raise OptionError(
                f"permutations must be a multiple of {PERMUTATIONS_STEP} with stored_bits="
                f"{self.stored_bits}, got {self.permutations}"
            )
        one_of("feature_bits", self.feature_bits, FEATURE_BITS)
        if self.unit == "moz":
            what = "unit='moz' works only with fingerprints"
            raise OptionError(what, python="use simdb.Simhash.moz()", command="use --preset moz")
        if not self.is_of_sets and self.family not in (STRATIFIED, MULTIPLY_SHIFT):
            raise OptionError(
                f"family={self.family!r} does not apply to weighting={self.weighting!r}, which"
                " draws samples without permutations; omit it, or use weighting='bag'"
            )
        self._check_idf()

    @property
    def is_of_sets(self) -> bool:
        """Whether features are counted ("set" and "bag") instead of weighed."""
        return self.weighting in SETS

    @property
    def is_ready(self) -> bool:
        """Whether signatures come from datasketch, so that texts are refused."""
        return self.family in READY_FAMILIES

    @property
    def chance(self) -> float:
        """The probability that two unequal minima are stored as equal bits."""
        return 2.0**-self.stored_bits if self.stored_bits < 32 else 0.0

    @property
    def counting(self) -> str:
        """The count of a feature that occurs n times, before IDF: "binary" (1) or "tf" (n)."""
        return "binary" if self.weighting == SET else "tf"

    def scale_of(self, content: int = 0) -> scales.SimilarityScale:
        """Return the scale of similarity on which signatures estimate documents.

        Parameters
        ----------
        content : int, default 0
            Not used: signatures have one scale.

        Returns
        -------
        SimilarityScale
            The Jaccard similarity, as signatures estimate it.
        """
        return scales.SIGNATURES

    @property
    def vector_bytes(self) -> int:
        """Number of bytes of one stored signature."""
        return self.permutations * self.stored_bits // 8


@answering
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Simhash(TextSketch):
    """The options of a fingerprint: 64 bits and a volatility vector.

    A text goes through the steps of `TextSketch`.

    Parameters
    ----------
    markup : {"none", "html"}, default "none"
        Whether pages of HTML are given; see `TextSketch`.
    html_title : bool, default True
        Whether the title of a page counts; see `TextSketch`.
    html_links : bool, default False
        Whether the targets of links count; see `TextSketch`.
    html_weights : dict or tuple of str, optional
        How often the text of some elements counts; see `TextSketch`.
    normalisation : {"none", "nfc", "nfkc", "lenient"}, default "nfc"
        The Unicode form; see `TextSketch`.
    marks : {"keep", "drop"}, default "keep"
        Whether accents and points count; see `TextSketch`.
    clean : bool, default True
        Whether invisible characters are removed; see `TextSketch`.
    unit : {"words", "characters", "whitespace", "moz"}, default "words"
        How texts are cut; see `TextSketch`.
    by_character : {"spaceless", "cjk"}, optional
        Scripts that are cut into characters; see `TextSketch`.
    tokeniser : str, optional
        Name of a function that cuts texts; see `TextSketch`.
    lowercase : bool, default True
        Whether case is folded; see `TextSketch`.
    turkic_case : bool, default False
        Whether I is the capital of the dotless i; see `TextSketch`.
    stop_words : str or tuple of str, optional
        Tokens to drop; see `TextSketch`.
    stemming : str, optional
        Language of the stems; see `TextSketch`.
    shingle : int, default 3
        Number of consecutive tokens in a feature; see `TextSketch`.
    weighting : str, default "binary"
        The weight of a feature that occurs n times: 1 ("binary"), n ("tf") or 1 + ln n ("log-tf").
        "binary-idf", "tf-idf" and "log-tf-idf" multiply that by the weight of the feature in `idf`.
    idf : IdfTable, optional
        Weights of features, made by `fit_idf`; see `TextSketch`.
    edition : {0, 1, 2}, default 0
        Edition of the rules for texts; see `TextSketch`.
    seed : int, default 0
        The seed of the feature hash and of the projection of vectors.
    vector_length : int, default 0
        Length of vectors given as documents; 0 for any length.
    dimensions : {64, 128, 256}, default 128
        Dimensions of the volatility vector, 4 bits each.
    store_volatility : bool, default True
        Whether the volatility vectors are stored.  Without them, `similarity=` is not possible.
    hash : callable, optional
        Your function that replaces MurmurHash3.  It takes a token as UTF-8 bytes and returns a
        whole number below 2**64; see Notes.

    Raises
    ------
    OptionError
        If a value is impossible, or contradicts another one.

    Notes
    -----
    Fingerprints are made as in Sood & Loguinov 2011, section 3.

    The function must return the same number in all processes, unlike Python's `hash`.  Calling it
    for each token is a hundred times slower.  The hash of a feature is the hash of its token, or a
    mixture of the hashes of its tokens.  Stop words, stems and IDF cannot be used with `hash`.  A
    database does not store the function, so give it to `open` again.  Without it, only ready
    fingerprints can be inserted, and only they and ids can be queried.
    """

    weighting: choices.SimhashWeightingName = "binary"
    vector_length: int = 0
    dimensions: int = 128
    store_volatility: bool = True
    hash: Callable[[bytes], int] | None = None

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        self._check_steps()
        whole("vector_length", self.vector_length, 0, VECTOR_LENGTH_MAX)
        one_of("dimensions", self.dimensions, DIMENSIONS)
        if self.unit == "moz" and (self.weighting != "tf" or self.dimensions != 64):
            raise OptionError("unit='moz' works only with weighting='tf' and dimensions=64")
        if self.unit == "moz" and (self.lowercase or self.clean or self.seed):
            raise OptionError(
                "unit='moz' works only with lowercase=False, clean=False and seed=0",
                python="use Simhash.moz()",
                command="use --preset moz",
            )
        if self.hash is not None:
            object.__setattr__(self, "hash", TokenHash.of(self.hash))
            if self.unit == "moz" or self.stop_words or self.stemming or self.uses_idf:
                given = "stop_words=, stemming=, IDF and unit='moz'"
                raise OptionError(f"hash= takes tokens as they are; leave out {given}")
        self._check_idf()

    @classmethod
    def paper(cls, idf: IdfTable | None = None, *, language: str = "english") -> "Simhash":
        """Make the options of Sood & Loguinov 2011, section 6: stemmed words without stop words.

        Weights are TF-IDF, and hashes are 64-bit MurmurHash3.

        Parameters
        ----------
        idf : IdfTable, optional
            A table made by `simdb.fit_idf(documents, simdb.Simhash.paper())`.  Documents can be
            sketched only with a table.
        language : str, default "english"
            The language of the stop words and stems.

        Returns
        -------
        Simhash
            The options.

        Raises
        ------
        OptionError
            If the table was fitted with other options.
        """
        return cls(shingle=1, stop_words=language, stemming=language, weighting="tf-idf", idf=idf)

    @classmethod
    def moz(cls, *, window: int = 3) -> "Simhash":
        """Make options that give the fingerprints of simhash-cpp, bit for bit.

        Use them to add to fingerprints that simhash-cpp has made.

        Parameters
        ----------
        window : int, default 3
            Number of tokens in a feature.  3 is the only window of simhash-cpp.

        Returns
        -------
        Simhash
            The options.

        Raises
        ------
        OptionError
            If `window` is not a whole number from 1 to 64.

        Notes
        -----
        Tokens are the longest sequences of ASCII letters; their case is kept.  Every other
        character, even an accented letter, separates tokens.  U+0000 ends the text.  The hash of a
        token is Jenkins' lookup3 with seed 0.  Each token gives one feature: a cyclic hash over the
        last `window` tokens, or fewer at the start of the text.

        A bit is set if more than half of the features have it.  If exactly half have it, its weight
        is slightly negative instead of 0.  The bits are in reverse order, as in simhash-cpp since
        its first version; docs/ALGORITHMS.md names the versions that differ.  A text without
        features is an empty document, with fingerprint 0, as in every sketch.
        """
        return cls(
            unit="moz",
            shingle=window,
            weighting="tf",
            lowercase=False,
            dimensions=64,
            normalisation="none",
            clean=False,
        )

    @property
    def vector_bytes(self) -> int:
        """Number of bytes of one stored volatility vector; 0 if none are stored."""
        return width(self.dimensions) if self.store_volatility else 0

    def scale_of(self, content: int = 0) -> scales.SimilarityScale:
        """Return the scale on which users see the similarity of documents.

        Parameters
        ----------
        content : int, default 0
            The kind of documents: 1 for texts, 1 + d for vectors of d coordinates, 0 if unknown.

        Returns
        -------
        SimilarityScale
            The Jaccard similarity for texts whose features count once, with the default threshold
            0.8.  The cosine for vectors and weighted features, with the default threshold 0.889, or
            0.909 for single words by "tf-idf".
        """
        has_vectors = content > scales.TEXT_CONTENT if content else self.vector_length > 0
        if self.weighting == "tf-idf" and self.shingle == 1 and not has_vectors:
            return scales.TFIDF
        return scales.COSINES if has_vectors or self.weighting != "binary" else scales.FEATURE_SETS


@answering
@dataclass(frozen=True, slots=True, repr=False)
class Bits(TextSketch):
    """The options of ready hashes, such as PDQ, pHash or dHash: documents are their bits.

    Documents match if they differ in at most `distance` bits; there is no similarity.

    Parameters
    ----------
    bits : int
        Number of bits, 32 to 512, a multiple of 32.
    order : tuple of int, optional
        The bits of the first block, then of the second, and so on; 0 is the highest bit.  If not
        given, the blocks get the bits in turn.  Hashes of 64 bits have no order.
    markup, html_title, html_links, html_weights, normalisation, marks, clean : optional
        Options of texts, which hashes do not have; leave them out.
    unit, by_character, tokeniser, lowercase, turkic_case, stop_words, stemming : optional
        Options of texts, which hashes do not have; leave them out.
    shingle, weighting, idf, edition, seed : optional
        Options of texts, which hashes do not have; leave them out.

    Raises
    ------
    OptionError
        If `bits` or `order` is impossible, or an option of texts is given.

    Notes
    -----
    A document is a `bytes` of length `bits / 8`, its hexadecimal `str`, or its whole number, with
    the first byte as the highest.  It can also be a bool array with `bits` elements, or an object
    with one of these as `.hash`.  Many documents are rows of bytes, uint8[n, bits / 8], or of
    words, uint64[n, bits / 64], with the highest word first: `rows.view(">u8")`.

    Each block of bits has a table (Manku, Jain & Das Sarma 2007; the general pigeonhole principle,
    Qin et al. 2018).  `simdb.fit_bits` makes an order for hashes with uneven or dependent bits, so
    that the keys of every block are spread about equally.
    """

    OWN: ClassVar[tuple[str, ...]] = ("bits", "order")

    bits: int
    order: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        """Show the number of bits, and an order if one was given."""
        return f"Bits({self.bits}{', order=...' if self.order else ''})"

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        for each in fields(TextSketch):
            if getattr(self, each.name) != each.default:
                raise OptionError(f"{each.name}= is for texts, and these are hashes; leave it out")
        if is_whole(self.bits, HASH_BITS_STEP, HASH_BITS_MOST):
            object.__setattr__(self, "bits", int(self.bits))
        whole("bits", self.bits, HASH_BITS_STEP, HASH_BITS_MOST)
        if self.bits % HASH_BITS_STEP:
            raise OptionError(f"bits must be a multiple of {HASH_BITS_STEP}, got {self.bits}")
        if self.order is None:
            return
        order = tuple(map(int, self.order))
        if sorted(order) != list(range(self.bits)) or self.bits == FINGERPRINT_BITS:
            raise OptionError(
                f"order must have each number below {self.bits} once (hashes of {FINGERPRINT_BITS}"
                f" bits have no order), got {shown(self.order)}"
            )
        object.__setattr__(self, "order", order)

    @property
    def vector_bytes(self) -> int:
        """Number of bytes of a hash stored next to its fingerprint; 0 for hashes of 64 bits."""
        return 0 if self.bits == FINGERPRINT_BITS else self.bits // 8

    def scale_of(self, content: int = 0) -> scales.SimilarityScale:
        """Return the scale of hashes, which have a distance and no similarity.

        Parameters
        ----------
        content : int, default 0
            Not used: hashes have one scale.

        Returns
        -------
        SimilarityScale
            The scale without a measure.
        """
        return scales.HASHES

    @property
    def usual_distance(self) -> int:
        """Default distance of queries: 31 of 256 bits, in proportion for other sizes.

        PDQ takes photos within 31 bits for the same photo (Meta, 2019).
        """
        return PDQ_DISTANCE * self.bits // PDQ_BITS


AnySketch: TypeAlias = Simhash | Minhash | Bits
USUAL_SKETCH = Simhash()


@answering
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Options:
    """The options of a database.

    They are stored when the database is created, and compared when it is opened.

    Parameters
    ----------
    sketch : Simhash, Minhash or Bits, optional
        A `Simhash` makes a fingerprint of each document, and a `Minhash` a signature.  With `Bits`,
        documents are hashes.  `Simhash()` if not given.
    bytes : {32, 64, 128, 256}, optional
        Bytes of a sketch, instead of `sketch`.  The best sketch of that size for the Jaccard
        similarity of texts is a `Minhash` with `stored_bits=2` (docs/QUALITY.md).
    blocks : int, optional
        Only with fingerprints and hashes: the number of blocks.  There is one sorted table for each
        of the C(`blocks`, `leading`) choices of leading blocks, at most 64.  A query within a
        distance of up to `blocks - leading` needs at most one look-up in each table.  The default
        is 1 with cross-polytope tables, and 4 without them or with `keep_clusters="distance"`.
        Hashes have one block for each 16 bits.
    leading : int, default 1
        Only with fingerprints and hashes: the number of leading blocks of a table; see `blocks`.
        It is 1 for hashes of any size except 64 bits.
    bands : int, optional
        Only with signatures: the number of bands, each with one sorted table.  Without `bands` and
        `rows`, simdb chooses the cheapest pair that finds a share `recall` of the documents at
        `similarity`.
    rows : int, optional
        Only with signatures: the number of minima of a band; give it together with `bands`.
    polytopes : int, optional
        Only with a `Simhash` that stores volatility vectors: the number of cross-polytope tables, 0
        to 16, which find similar documents by their weights.  The default is 4 in a new database.
        A database of an older version has none until `compact` or `rebuild`.
    similarity : float, optional
        Default least similarity of queries.  Texts have the Jaccard similarity of their sets of
        shingles (0.8 if not given).  Vectors, and texts whose features have weights, have the
        cosine (0.889); see `measure`.
    distance : int, optional
        Default largest distance of queries, only with fingerprints (3 if not given) and hashes (31
        of 256 bits).
    recall : float, optional
        Default recall of queries; 0.95 if not given, and 1.0 for hashes.
    delta_documents : int, default 4096
        Number of recent documents that are searched one by one before they are sealed into a run.
    growth : int, default 3
        A run is merged into the run before it unless that run is at least `growth` times larger.  A
        larger `growth` means fewer runs (faster queries) and more rewriting.
    header_offset : int, optional
        The directory of n documents has headers of floor(log2 n) + `header_offset` bits, -4 to 0.
        The default is -4 with one table of fingerprints, and -1 otherwise.  One more bit doubles
        the memory of the directory (4 bytes a header) and halves the entries that a look-up
        compares.
    keep_clusters : {"none", "distance", "similarity"}, default "none"
        With "similarity" or "distance", every commit updates the connected clusters for the default
        `similarity` or `distance`.  `cluster` and `find_clusters` read them.  "distance" works only
        with fingerprints.
    keep_times : {"none", "inserted", "seen"}, default "none"
        "inserted" stores the time at which each document was inserted.  "seen" also renews it
        whenever a claim (`add_if_new`, `add_many_if_new`) finds that the document matches.  Each
        such claim then makes a commit, even if it stores no document.  `expire` needs one of the
        two.
    passages : bool, default False
        Whether winnowed n-grams of each text are stored for `contained=`, about 3 bytes a word.
        All documents must then be texts, and the sketch must cut words.
    features : bool, default False
        Whether the features of each document are stored, about 3 bytes a word (7 with weights).
        Exact similarities are then used without `texts=`: in `add_if_new`, `add_many_if_new`,
        `find_all`, `find_clusters`, `compare` and `deduplicate(db=)`.  All documents must then be
        texts or lists of tokens.
    texts : bool, default False
        Whether the texts themselves are stored, compressed (about 450 bytes for 1,000 of English);
        see Notes.
    fields : tuple of str, optional
        Keys of the metadata by which `where=` filters, at most 8, such as ("tenant", "source").
        With `where={"tenant": "t7"}`, a verb looks only at documents with that value.  Values must
        be str, int, bool, bytes or None.  Each field takes 8 bytes a document.

    Raises
    ------
    OptionError
        If a value is impossible, or does not suit the sketch.

    Notes
    -----
    Stored texts are read only on request: `get(id).text`, `match.text`, `texts_many`.  Documents
    that were not inserted as texts have none.

    With stored texts, these are exact without `texts=`: `find_all`, `find_clusters`, `compare`,
    `add_if_new`, `add_many_if_new`, `contained=`, keep="longest" and "shortest",
    `deduplicate(db=)`, `against=` and the report pages.  `query`, `first` and `nearest` still
    estimate; `nearest` is exact with `texts=db.texts_many`.  If `features` are stored as well,
    claims take half the time, and the database takes more room.
    """

    sketch: AnySketch = USUAL_SKETCH
    bytes: InitVar[int | None] = None
    blocks: int = _OF_SKETCH
    leading: int = _OF_SKETCH
    bands: int | None = None
    rows: int | None = None
    polytopes: int | None = None
    similarity: float = _OF_SKETCH
    distance: int = _OF_SKETCH
    recall: float = _OF_SKETCH
    delta_documents: int = 4096
    growth: int = 3
    header_offset: int = _OF_SKETCH
    keep_clusters: choices.ClustersName = "none"
    keep_times: choices.TimesName = "none"
    passages: bool = False
    features: bool = False
    texts: bool = False
    fields: tuple[str, ...] = ()

    def __post_init__(self, bytes: int | None) -> None:
        """Raise OptionError for an impossible value."""
        if bytes is not None:
            if self.sketch is not USUAL_SKETCH:
                raise OptionError("bytes= chooses the sketch; leave out bytes= or sketch=")
            object.__setattr__(self, "sketch", sketch_of_bytes(bytes))
        if not isinstance(self.sketch, Simhash | Minhash | Bits):
            raise OptionError(
                "sketch must be a simdb.Simhash, simdb.Minhash or simdb.Bits, got"
                f" {type(self.sketch).__name__}"
            )
        chosen_words(self)
        self._set_default("recall", 1.0 if self.is_hashes else USUAL_RECALL)
        self._set_default("similarity", self.scale.usual)
        if self.is_hashes:
            self._check_hashes()
        self._check_polytopes()
        if isinstance(self.sketch, Minhash):
            self._check_bands(self.sketch)
        else:
            self._check_blocks()
        share("similarity", self.similarity)
        share("recall", self.recall)
        whole("delta_documents", self.delta_documents, 1, 2**20)
        whole("growth", self.growth, 2, 1000)
        self._set_default("header_offset", self.usual_header_offset)
        whole("header_offset", self.header_offset, HEADER_OFFSET_LEAST, 0)
        object.__setattr__(self, "fields", field_names(self.fields))
        if self.passages:
            self._check_passages()
        if self.features and self.sketch.unit == "moz":
            raise OptionError(
                "features=True cannot store the features of unit='moz', which are windows of a"
                " hash; use another unit=, or leave features= out"
            )
        if self.keep_clusters == BY_SIMILARITY and not self.has_similarities:
            raise OptionError(
                "keep_clusters='similarity' needs stored vectors, as with"
                " Simhash(store_volatility=True); otherwise use keep_clusters='distance'"
            )

    def __repr__(self) -> str:
        """Return the options that differ from the usual ones of this sketch."""
        usual = Options(sketch=self.sketch, blocks=self.usual_blocks)
        differing = differing_options(self, usual)
        if self.sketch != Simhash():
            differing = {"sketch": self.sketch, **differing}
        return written(self, differing)

    @property
    def scale(self) -> scales.SimilarityScale:
        """The scale on which users see the similarity of documents."""
        return self.sketch.scale_of()

    @property
    def measure(self) -> choices.MeasureName:
        """The measure of `similarity`: "jaccard" of sets of features, or "cosine" of weights.

        Fingerprints estimate a cosine c.  If the measure is "jaccard", users see c / (2 - c), and
        a threshold j means the cosine 2 j / (1 + j).  None for hashes.
        """
        return self.scale.measure

    def similarity_in(self, measure: choices.MeasureName) -> float:
        """Return the default threshold, converted to the measure of the documents.

        Parameters
        ----------
        measure : {"jaccard", "cosine"}
            The measure of the documents.  It can differ from `Options.measure`, for example for
            vectors in a database without `vector_length`.

        Returns
        -------
        float
            The threshold, rounded to 3 digits if it was converted.
        """
        if measure == self.measure:
            return self.similarity
        sets = scales.FEATURE_SETS
        convert = sets.to_cosine if measure == "cosine" else sets.from_cosine
        return round(float(convert(self.similarity)), CONVERTED_DIGITS)

    @property
    def is_minhash(self) -> bool:
        """Whether the sketches are MinHash signatures."""
        return isinstance(self.sketch, Minhash)

    @property
    def is_hashes(self) -> bool:
        """Whether the documents are hashes, `Bits`."""
        return isinstance(self.sketch, Bits)

    @property
    def is_wide(self) -> bool:
        """Whether the documents are hashes that do not fit into a fingerprint of 64 bits."""
        return self.is_hashes and self.sketch.vector_bytes > 0

    @property
    def has_similarities(self) -> bool:
        """Whether the stored vectors estimate similarities."""
        return self.sketch.vector_bytes > 0 and not self.is_hashes

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods that can search such a database."""
        if self.is_minhash:
            return MINHASH_METHODS
        of_hashes = HASH_METHODS if self.is_wide else (*HASH_METHODS, ROTATION)
        return of_hashes if self.is_hashes else METHODS

    @property
    def bits(self) -> int:
        """The number of bits that are compared: 64, or the size of hashes."""
        return self.sketch.bits if isinstance(self.sketch, Bits) else FINGERPRINT_BITS

    @property
    def table_count(self) -> int:
        """The number of tables of block permutations or bands; 0 before the bands are chosen."""
        return (self.bands or 0) if self.is_minhash else math.comb(self.blocks, self.leading)

    @property
    def usual_blocks(self) -> int:
        """The default number of blocks.

        0 for signatures, one for each 16 bits of hashes, and otherwise 1 or 4.
        """
        if self.is_minhash:
            return 0
        if isinstance(self.sketch, Bits):
            return self.sketch.bits // HASH_BLOCK_BITS
        has_weights = self.sketch.vector_bytes and self.polytopes != 0
        is_asked = self.keep_clusters == BY_DISTANCE
        return WEIGHTED_BLOCKS if has_weights and not is_asked else USUAL_BLOCKS

    @property
    def usual_header_offset(self) -> int:
        """The default of `header_offset`: narrower for a single table of fingerprints."""
        is_one = not self.is_minhash and not self.is_wide and self.table_count == 1
        return HEADER_OFFSET_LEAST if is_one else USUAL_HEADER_OFFSET

    @property
    def polytope_count(self) -> int:
        """The number of cross-polytope tables; 0 before it is chosen."""
        return self.polytopes or 0

    @property
    def decides(self) -> bool:
        """Whether stored features or texts give exact similarities without `texts=`."""
        return self.features or self.texts

    @property
    def keeps_clusters(self) -> bool:
        """Whether every commit keeps clusters up to date."""
        return bool(self.keep_clusters != NOT_KEPT)

    @property
    def keeps_times(self) -> bool:
        """Whether the time of each document is stored."""
        return bool(self.keep_times != NO_TIMES)

    def _check_hashes(self) -> None:
        """Refuse options that hashes cannot have."""
        if self.similarity != 1.0:
            raise OptionError(NO_SIMILARITY)
        if self.is_wide and self.leading not in (None, USUAL_LEADING):
            raise OptionError(f"leading must be 1 for hashes, got {shown(self.leading)}")
        for name in ("passages", "features", "texts"):
            if getattr(self, name):
                raise OptionError(f"{name}=True needs texts, and hashes have none; leave it out")

    def _check_passages(self) -> None:
        """Raise OptionError unless the sketch cuts plain texts into words."""
        sketch = self.sketch
        if (
            sketch.unit not in ("words", "whitespace")
            or sketch.tokeniser
            or sketch.markup != "none"
        ):
            raise OptionError(
                "passages=True needs texts that are cut into words: use unit='words', no tokeniser="
                " and no markup=, and give texts without markup"
            )

    def _set_default(self, name: str, value: Any) -> None:
        if getattr(self, name) is _OF_SKETCH:
            object.__setattr__(self, name, value)

    def _check_blocks(self) -> None:
        """Set and check the options that work only with fingerprints."""
        for name in BANDED:
            if getattr(self, name) is not None:
                raise OptionError(
                    f"{name}= works only with MinHash signatures; for fingerprints use blocks= and"
                    " leading="
                )
        self._set_default("blocks", self.usual_blocks)
        self._set_default("leading", USUAL_LEADING)
        most = FINGERPRINT_BITS
        if isinstance(self.sketch, Bits):
            most = self.sketch.bits
            self._set_default("distance", self.sketch.usual_distance)
        self._set_default("distance", USUAL_DISTANCE)
        whole("blocks", self.blocks, -(-most // FINGERPRINT_BITS), FINGERPRINT_BITS)
        whole("leading", self.leading, 1, self.blocks)
        if self.table_count > TABLES_MAX:
            raise OptionError(
                f"blocks={self.blocks}, leading={self.leading} make {self.table_count} tables, more"
                f" than {TABLES_MAX}; choose fewer blocks, or leading nearer to 1"
            )
        whole("distance", self.distance, 0, most)

    def _check_polytopes(self) -> None:
        """Check the number of cross-polytope tables; without vectors, 0 becomes None."""
        if self.polytopes is None:
            return
        whole("polytopes", self.polytopes, 0, POLYTOPES_MAX)
        if self.is_minhash or not self.has_similarities:
            if self.polytopes:
                raise OptionError(
                    f"polytopes={self.polytopes} works only with fingerprints and stored vectors,"
                    " as with Simhash(store_volatility=True); otherwise leave polytopes= out"
                )
            object.__setattr__(self, "polytopes", None)

    def _check_bands(self, sketch: Minhash) -> None:
        """Set and check the options that work only with signatures."""
        for name in PERMUTED:
            self._set_default(name, 0)
            if getattr(self, name) != 0:
                raise OptionError(
                    f"{name}= works only with fingerprints; with MinHash use bands= and rows=,"
                    " and query by similarity="
                )
        if self.keep_clusters == BY_DISTANCE:
            raise OptionError(
                "keep_clusters='distance' works only with fingerprints; with MinHash use"
                " keep_clusters='similarity'"
            )
        if (self.bands is None) != (self.rows is None):
            raise OptionError("bands= and rows= must be given together, or neither")
        if self.bands is not None and self.rows is not None:
            whole("bands", self.bands, 1, TABLES_MAX)
            whole("rows", self.rows, 1, sketch.permutations)
            if self.bands * self.rows > sketch.permutations:
                raise OptionError(
                    f"bands={self.bands} of rows={self.rows} need {self.bands * self.rows} minima,"
                    f" but permutations={sketch.permutations}"
                )


def sketch_of_bytes(size: int) -> Minhash:
    """Return the best sketch of `size` bytes for texts; raise OptionError for any other size."""
    one_of("bytes", size, SKETCH_BYTES)
    bits = 2  # 1 bit hardly estimates better, but takes twice the minima and more tables
    return Minhash(permutations=size * 8 // bits, stored_bits=bits)


@dataclass(frozen=True, slots=True)
class Unit:
    """The parts of texts that `simdb.deduplicate` compares.

    `unit="paragraph"` means `unit=simdb.Unit("paragraph")`.

    Parameters
    ----------
    name : {"document", "paragraph", "line", "sentence"}
        The part.
    min_words : int, optional
        Least number of words of a part that is compared; shorter parts are always kept.  The
        default is 5; "document" has no such limit.

    Raises
    ------
    OptionError
        If a value is impossible.

    Examples
    --------
    >>> pages = ["All rights reserved.\\nA page about ships.", "All rights reserved.\\nRivers."]
    >>> simdb.deduplicate(pages, unit=simdb.Unit("line", min_words=3)).data
    ['All rights reserved.\\nA page about ships.', 'Rivers.']
    """

    name: choices.PartName
    min_words: int | None = None

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        one_of("unit", self.name, UNITS)
        if self.min_words is None:
            return
        whole("min_words", self.min_words, 1, MIN_WORDS_MOST)
        if self.name == DOCUMENT:
            raise OptionError("min_words= is for parts; give the unit paragraph, line or sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The settings of a search: a method, and its parameters for experts.

    None leaves a setting to the planner.  A verb raises OptionError for a setting that it cannot
    follow.

    Parameters
    ----------
    method : str, optional
        "exhaustive", "polytope", "bphs", "psm", "multiprobe", "rotation" (pairs only) or, for
        MinHash signatures, "banding".  A verb also takes the name alone: `search="psm"`.
    attempts : int, optional
        For "psm" and "multiprobe": the number of further headers that are looked up in each table,
        instead of `recall`.  They are the first in the order of `simdb.vosh` (Sood & Loguinov 2011,
        section 4) with no more flipped bits than a match may have.
    header_bits : int, optional
        For "psm" and "multiprobe": the largest number of bits of a header.
    rotations : int, optional
        For "rotation": the number of orders, 1 to 64, in which all fingerprints are sorted and
        neighbours compared.  If not given, it is derived from the recall.
    memory_limit : int, optional
        Bytes for a batch of queries; see Notes.

    Notes
    -----
    With `memory_limit`, stored runs are read in chunks, so a database may be larger than memory.  A
    chunk has at least 64 queries and 512 documents.  Without a limit, runs are read in chunks only
    if that is faster and the database exceeds the memory of this process.  The limit is then a
    quarter of that memory.  Ids, matches, the commit, and the documents of an insertion (about 30
    bytes each, and the weights) do not count.
    """

    method: choices.MethodName | None = None
    attempts: int | None = None
    header_bits: int | None = None
    rotations: int | None = None
    memory_limit: int | None = None


SearchLike: TypeAlias = choices.MethodName | Search
SEARCH_NAMES = tuple(field.name for field in fields(Search))
# The settings that a query, a batch of queries and a search for pairs can follow.
OF_QUERIES = ("method", "attempts", "header_bits")
OF_BATCHES = (*OF_QUERIES, "memory_limit")
OF_PAIRS = (*OF_QUERIES, "rotations")
DEFAULT_SEARCH = Search()


def search_of(given: object, follows: tuple[str, ...] = SEARCH_NAMES) -> Search:
    """Return the `search=` of a verb as a `Search`.

    Raises OptionError unless the verb `follows` it.
    """
    if given is None:
        return DEFAULT_SEARCH
    if isinstance(given, str):
        return Search(method=cast(choices.MethodName, given))  # checked later, with the options
    if not isinstance(given, Search):
        raise OptionError(
            "search must be the name of a method, such as 'psm', or simdb.Search(method=...), got"
            f" {shown(given)}"
        )
    for name in SEARCH_NAMES:
        if name not in follows and getattr(given, name) is not None:
            raise OptionError(
                f"{name} of search= does not apply to this verb, which follows"
                f" {', '.join(follows)}; leave it out"
            )
    return given
