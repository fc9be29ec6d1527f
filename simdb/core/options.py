"""Options of a database: checked once, stored when it is created, compared when it is opened.

Every option that changes a fingerprint or the stored bytes is here.  How a process opens a database
(durability, size of the map, timeout) is not stored; those are arguments of `simdb.open`.  How one
verb searches is a `Search`, for a caller who knows better than the planner.
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
# Signatures that datasketch has made; simdb cannot make them from texts.
READY_FAMILIES = (
    "datasketch-affine32", "datasketch-legacy", "datasketch-affine64", "datasketch-weighted",
)  # fmt: skip
SETS = SET, BAG = ("set", "bag")
PERMUTATIONS_LEAST, PERMUTATIONS_MOST = 1, 1024
PERMUTATIONS_STEP = 8  # minima that the kernel makes at a time
STORED_BITS = (1, 2, 8, 32)
FEATURE_BITS = (32, 64)
SKETCH_BYTES = (32, 64, 128, 256)
USUAL_RECALL, CONVERTED_DIGITS = 0.95, 3  # of a threshold: the cosine .889 is .8
NOT_KEPT, BY_DISTANCE, BY_SIMILARITY = get_args(choices.ClustersName)
NO_TIMES, INSERTED, SEEN = get_args(choices.TimesName)
AUTO, EXHAUSTIVE, BPHS, PSM, MULTIPROBE, POLYTOPE, ROTATION, BANDING = (
    "auto", "exhaustive", "bphs", "psm", "multiprobe", "polytope", "rotation", "banding",
)  # fmt: skip
PROBING_METHODS = (PSM, MULTIPROBE)  # these go by the weights of a query
METHODS = (AUTO, EXHAUSTIVE, BPHS, *PROBING_METHODS, POLYTOPE, ROTATION)
MINHASH_METHODS = (AUTO, EXHAUSTIVE, BANDING)
VECTOR_LENGTH_MAX = 2**31 - 1
# At -4, headers take less than a quarter of a byte a document and point at 16 to 32 entries.
HEADER_OFFSET_LEAST, USUAL_HEADER_OFFSET = -4, -1
TABLES_MAX = 64  # C(8, 4) = 70 is already past any use
POLYTOPES_MAX = 16
USUAL_POLYTOPES = 4
_OF_SKETCH: Any = None
# The defaults of block permutations; one table serves queries that have weights.
USUAL_BLOCKS, WEIGHTED_BLOCKS, USUAL_LEADING, USUAL_DISTANCE = 4, 1, 1, 3
# Of hashes: the bits of a block, and the usual distance, 31 of 256 as for PDQ.
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

    Two signatures agree in about the share of minima that is the similarity of their documents.  A
    text goes through the steps of `TextSketch`.

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
        Tokens to leave out; see `TextSketch`.
    stemming : str, optional
        Language of the stems; see `TextSketch`.
    shingle : int, default 3
        Number of consecutive tokens in a feature; see `TextSketch`.
    weighting : {"set", "bag", "tf", "tf-idf"}, default "set"
        How much a feature counts:

        * "set": a feature occurs or not, and the similarity is Jaccard's.
        * "bag": the second occurrence of a feature is another feature, and so on.
        * "tf" and "tf-idf": a feature weighs as often as it occurs, with "tf-idf" times its weight
          in `idf`.  The similarity is sum min / sum max of the weights, by consistent weighted
          sampling (Ioffe 2010), which takes many times longer.
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
        Four times the number of minima then tell more than minima of 8 bits (docs/QUALITY.md).
        They take the same number of bytes with 2 bits, and half of it with 1 bit.
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

    * "stratified": the values that the permutations give to one feature are evenly spaced, from a
      start and in an order that its hash gives.  Every feature is then small in about the same
      number of permutations, and estimates vary less than with independent permutations.  Their
      standard error is three quarters of it for texts with up to 100 features, and nine tenths for
      500 features.
    * "multiply-shift": (a x + b) mod 2^32 (Dietzfelbinger et al. 1997).  x is one half of a hash
      for even permutations and the other half for odd ones.
    * "mersenne": (a x + b) mod 2^61 - 1 (Carter & Wegman 1979).
    * "one-permutation": one hash of each feature chooses one of `permutations` bins (Li, Owen &
      Zhang 2012).  A bin without a feature takes the minimum of another bin (Shrivastava 2017).  It
      is faster for many permutations, less exact for documents with fewer features than bins, and
      has no meaning for "tf" and "tf-idf".
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
                f"family={self.family!r} has no meaning beside weighting={self.weighting!r}, which"
                " has samples in place of permutations; leave it out, or take weighting='bag'"
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
            Jaccard's similarity, as signatures estimate it.
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
        Tokens to leave out; see `TextSketch`.
    stemming : str, optional
        Language of the stems; see `TextSketch`.
    shingle : int, default 3
        Number of consecutive tokens in a feature; see `TextSketch`.
    weighting : str, default "binary"
        How much a feature of a document counts: 1 ("binary"), n, the number of times that it occurs
        ("tf"), or 1 + ln n ("log-tf").  "binary-idf", "tf-idf" and "log-tf-idf" multiply that by
        its weight in `idf`.
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
        A function of yours from a token, as UTF-8 bytes, to a whole number below 2**64, in place of
        MurmurHash3; see Notes.

    Raises
    ------
    OptionError
        If a value is impossible, or contradicts another one.

    Notes
    -----
    Fingerprints are made as in Sood & Loguinov 2011, section 3.

    A function `hash` must return the same number in all processes, as Python's `hash` does not.
    simdb calls it in Python for each token, so it is a hundred times slower.  A feature of one
    token has the hash of that token; the hashes of several tokens are mixed.  `hash` goes with
    neither stop words, stems nor IDF.  A database does not store the function, so give it again to
    `open`.  Without it, only ready fingerprints and ids can be asked for or inserted.
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
            raise OptionError("unit='moz' has weighting='tf' and dimensions=64 only")
        if self.unit == "moz" and (self.lowercase or self.clean or self.seed):
            raise OptionError(
                "unit='moz' has lowercase=False, clean=False and seed=0 only",
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
        """Make the options of Sood & Loguinov 2011, section 6: words without stop words, stemmed.

        Weights are TF-IDF and hashes are 64-bit Murmur.

        Parameters
        ----------
        idf : IdfTable, optional
            A table made by `simdb.fit_idf(documents, simdb.Simhash.paper())`.  Without it no
            document can be sketched.
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
        """Make the options of simhash-cpp, whose fingerprints they give bit for bit.

        Use them to continue an old corpus.

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
        Tokens are the longest sequences of ASCII letters, as they are written.  Every other
        character separates tokens, also a letter with an accent, and U+0000 ends the text.  The
        hash of a token is Jenkins' lookup3 with seed 0.  Each token gives one feature, a cyclic
        hash over the last `window` tokens, or fewer at the start of the text.

        A bit is set if more than half of the features have it.  The bits are in reverse order, as
        in simhash-cpp since its first version; docs/ALGORITHMS.md says which of its versions
        differ.  A text without features is an empty document, as in every sketch, of fingerprint 0.
        If a bit is set in exactly half of the features, its weight is slightly negative instead of
        0.
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
            The kind of documents: 1 for texts, 1 + d for vectors of d coordinates, 0 if it is not
            known.

        Returns
        -------
        SimilarityScale
            For texts whose features count once, Jaccard's similarity, with the threshold 0.8 if
            none is given.  For vectors and for weights, the cosine: 0.889, and 0.909 for single
            words by "tf-idf".
        """
        has_vectors = content > scales.TEXT_CONTENT if content else self.vector_length > 0
        if self.weighting == "tf-idf" and self.shingle == 1 and not has_vectors:
            return scales.TFIDF
        return scales.COSINES if has_vectors or self.weighting != "binary" else scales.FEATURE_SETS


@answering
@dataclass(frozen=True, slots=True, repr=False)
class Bits(TextSketch):
    """The options of ready hashes, such as PDQ, pHash or dHash: documents are their bits.

    Documents match by `distance=` alone, the number of bits in which they differ.

    Parameters
    ----------
    bits : int
        Number of bits, 32 to 512, a multiple of 32.
    order : tuple of int, optional
        The numbers of the bits, 0 for the highest, one block after the other.  If not given, the
        bits are dealt in turn.  Hashes of 64 bits have no order.
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
    A document is `bytes` of that length, their hexadecimal `str`, or the whole number that they are
    (the first byte is the highest).  It can also be a bool array with `bits` elements, or an object
    that has one of these as `.hash`.  Many documents are rows of bytes, uint8[n, bits / 8], or of
    words, uint64[n, bits / 64], the highest first: `rows.view(">u8")`.

    The bits are dealt to blocks, and each block has a table: Manku, Jain & Das Sarma 2007, and the
    general pigeonhole principle, Qin et al. 2018.  `simdb.fit_bits` makes an order for hashes whose
    bits are far from even or go together, so that no block is more crowded than the others.
    """

    OWN: ClassVar[tuple[str, ...]] = ("bits", "order")

    bits: int
    order: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        """Return the number of bits, and whether their order is another than the usual one."""
        return f"Bits({self.bits}{', order=...' if self.order else ''})"

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        for each in fields(TextSketch):
            if getattr(self, each.name) != each.default:
                raise OptionError(f"{each.name}= is of texts, and these are hashes; leave it out")
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
                f"order must have each number below {self.bits} once, and hashes of"
                f" {FINGERPRINT_BITS} bits have none; got {shown(self.order)}"
            )
        object.__setattr__(self, "order", order)

    @property
    def vector_bytes(self) -> int:
        """Number of bytes of a stored hash next to its fingerprint; 0 where that is the hash."""
        return 0 if self.bits == FINGERPRINT_BITS else self.bits // 8

    def scale_of(self, content: int = 0) -> scales.SimilarityScale:
        """Return the scale of documents that have only a distance.

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
        """The threshold of a query that gives none: 31 of 256 bits, in proportion for other sizes.

        Within 31 bits are the photos that PDQ takes for one (Meta, 2019).
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
        In place of `sketch`: the best sketch of this number of bytes for texts, by Jaccard's
        similarity, which is a `Minhash` with `stored_bits=2` (docs/QUALITY.md).
    blocks : int, optional
        Only with fingerprints and hashes: the number of blocks.  There is one sorted table for each
        of the C(`blocks`, `leading`) choices of leading blocks, at most 64.  A query within a
        distance of up to `blocks - leading` needs at most one look-up in each table.  If not given,
        it is 1 in a database with cross-polytope tables, and 4 in one without them or with
        `keep_clusters="distance"`.  Hashes have one block for each 16 bits.
    leading : int, default 1
        Only with fingerprints and hashes: the number of leading blocks of a table; see `blocks`.
        Hashes of other sizes than 64 bits have one.
    bands : int, optional
        Only with signatures: the number of bands, each with one sorted table.  If neither `bands`
        nor `rows` is given, simdb chooses the cheapest pair that finds the share `recall` of the
        documents at `similarity`.
    rows : int, optional
        Only with signatures: the number of minima of a band; give it together with `bands`.
    polytopes : int, optional
        Only with a `Simhash` that stores volatility vectors: the number of cross-polytope tables, 0
        to 16, which find similar documents by their weights.  A new database has 4 if you give
        none.  A database of an older version has none until `compact` or `rebuild`.
    similarity : float, optional
        Default least similarity of queries.  The similarity of texts is Jaccard's, of the sets of
        their shingles (0.8 if not given).  Of vectors, and of a `Simhash` whose features have
        weights, it is the cosine (0.889); see `measure`.
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
        If not given, it is -4 in a database of one table of fingerprints, and -1 in others.  One
        more bit doubles its memory, 4 bytes a header, and halves the entries that a look-up
        compares.
    keep_clusters : {"none", "distance", "similarity"}, default "none"
        With "distance" (only with fingerprints) or "similarity", every commit keeps the connected
        clusters under the default of that name up to date.  `cluster` and `find_clusters` read
        them.
    keep_times : {"none", "inserted", "seen"}, default "none"
        "inserted" stores the time at which each document was inserted.  "seen" also renews it
        whenever a claim (`add_if_new`, `add_many_if_new`) finds that the document matches.
        `expire` needs one of them.  With "seen", a claim that stores nothing has a commit of its
        own as well.
    passages : bool, default False
        Whether winnowed n-grams of each text are stored, some 3 bytes a word, for `contained=`.
        All documents must then be texts, and the sketch must cut words.
    features : bool, default False
        Whether the features of each document are stored, 3 bytes each (some 3 bytes a word; 7 if
        they have weights).  Exact similarities then decide without `texts=`: in `add_if_new`,
        `add_many_if_new`, `find_all`, `find_clusters`, `compare` and `deduplicate(db=)`.  All
        documents must then be texts or lists of tokens.
    texts : bool, default False
        Whether the texts themselves are stored, compressed (some 450 bytes for 1,000 of English);
        see Notes.
    fields : tuple of str, optional
        Names of keys of the metadata, at most 8, such as ("tenant", "source").  Their values must
        be str, int, bool, bytes or None.  With `where={"tenant": "t7"}` the verbs then look only at
        documents that have these values.  It takes 8 bytes a field and document.

    Raises
    ------
    OptionError
        If a value is impossible, or does not suit the sketch.

    Notes
    -----
    Stored texts are read only when they are asked for: `get(id).text`, `match.text`, `texts_many`.
    A document that is no text has none.  They decide exactly, without `texts=`, in `find_all`,
    `find_clusters`, `compare`, `add_if_new`, `add_many_if_new`, with `contained=`, for
    keep="longest" and "shortest", in `deduplicate(db=)` and `against=`, and on pages.  `query`,
    `first` and `nearest` answer by estimate (`nearest` exactly with `texts=db.texts_many`).  If
    `features` are stored as well, claims take half the time, and the database takes more room.
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
                "features=True needs features that are stored, and those of unit='moz' are windows"
                " of a hash; use another unit=, or leave features= out"
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
        """The measure of `similarity`: "jaccard", of the sets of features, or "cosine", of weights.

        A fingerprint estimates the cosine c; where this is "jaccard", c / (2 - c) is shown for it,
        and the threshold j means the cosine 2 j / (1 + j).  None for hashes.
        """
        return self.scale.measure

    def similarity_in(self, measure: choices.MeasureName) -> float:
        """Return the default threshold as the measure of the documents has it.

        Parameters
        ----------
        measure : {"jaccard", "cosine"}
            The measure of the documents.  It differs from `Options.measure` for vectors in a
            database without `vector_length`, for example.

        Returns
        -------
        float
            The threshold, converted to 3 digits if the measure differs.
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
        """Whether the documents are hashes that no fingerprint of 64 bits can hold."""
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
        """The number of bits that decide whether documents match: 64, or the size of hashes."""
        return self.sketch.bits if isinstance(self.sketch, Bits) else FINGERPRINT_BITS

    @property
    def table_count(self) -> int:
        """The number of block permutations or bands; 0 if the bands are not chosen yet."""
        return (self.bands or 0) if self.is_minhash else math.comb(self.blocks, self.leading)

    @property
    def usual_blocks(self) -> int:
        """The number of blocks if none is given.

        0 for signatures, one for each 16 bits for hashes, else 1 or 4.
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
        """The width of directories if none is given: the entries of one table are compared fast."""
        is_one = not self.is_minhash and not self.is_wide and self.table_count == 1
        return HEADER_OFFSET_LEAST if is_one else USUAL_HEADER_OFFSET

    @property
    def polytope_count(self) -> int:
        """The number of cross-polytope tables; 0 if it is not chosen yet."""
        return self.polytopes or 0

    @property
    def decides(self) -> bool:
        """Whether exact similarities of stored documents are known without `texts=`."""
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
        """Check that the sketch takes texts whose words have places."""
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
        """Check the number of cross-polytope tables; without vectors, 0 is the same as None."""
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
    """Return the best sketch of `size` bytes for texts; OptionError unless one was chosen."""
    one_of("bytes", size, SKETCH_BYTES)
    bits = 2  # one bit tells little more, and takes twice as many minima, and more tables
    return Minhash(permutations=size * 8 // bits, stored_bits=bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The settings of a search: a method, and the values that an expert can set for it.

    None leaves a setting to the planner.  A verb that cannot follow a setting raises OptionError.

    Parameters
    ----------
    method : str, optional
        "exhaustive", "polytope", "bphs", "psm", "multiprobe", "rotation" (pairs only) or, for
        MinHash signatures, "banding".  A verb also takes the name alone: `search="psm"`.
    attempts : int, optional
        For "psm" and "multiprobe": the number of headers of each table that are looked up in
        addition to the header of the query.  They are the first in the order of `simdb.vosh` (Sood
        & Loguinov 2011, section 4).  Each has at most the number of flipped bits that a match may
        have.  It replaces `recall`.
    header_bits : int, optional
        For "psm" and "multiprobe": the most bits of a header.
    rotations : int, optional
        For "rotation": the number of orders in which all fingerprints are sorted, 1 to 64;
        neighbours are then compared.  If not given, the recall decides the number.
    memory_limit : int, optional
        Bytes for a batch of queries; see Notes.

    Notes
    -----
    With `memory_limit`, stored runs pass through memory in chunks, so the database may be larger;
    64 queries and 512 documents are held at least.  Without it, runs do so only if the database is
    larger than the memory of this process and chunks are faster.  The limit is then a quarter of
    that memory.  Not counted are the ids, the documents of an insertion (some 30 bytes each, and
    the weights), the commit and the matches.
    """

    method: choices.MethodName | None = None
    attempts: int | None = None
    header_bits: int | None = None
    rotations: int | None = None
    memory_limit: int | None = None


SearchLike: TypeAlias = choices.MethodName | Search
SEARCH_NAMES = tuple(field.name for field in fields(Search))
# What a query can follow, what a batch of queries can, and what a search for pairs can.
OF_QUERIES = ("method", "attempts", "header_bits")
OF_BATCHES = (*OF_QUERIES, "memory_limit")
OF_PAIRS = (*OF_QUERIES, "rotations")
DEFAULT_SEARCH = Search()


def search_of(given: object, follows: tuple[str, ...] = SEARCH_NAMES) -> Search:
    """Return the `search=` of a verb as a `Search`; OptionError unless the verb `follows` it."""
    if given is None:
        return DEFAULT_SEARCH
    if isinstance(given, str):
        return Search(method=cast(choices.MethodName, given))  # which is checked with the options
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
