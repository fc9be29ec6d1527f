"""From text to features, weights, fingerprints, packed volatility vectors and signatures.

Every operation has a scalar definition in C.  All its variants give the same results, to the bit.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

TURKIC: int
STRAYS: int

def variants() -> list[str]:
    """Return the names of the variants this processor can run, the slowest ("scalar") first."""

def select(variant: str) -> str:
    """Use `variant` from now on; return the name of the variant used before."""

class Vocabulary:
    """Which tokens are left out or replaced before they make shingles.

    `stop_words` are the tokens to leave out, spelled as after lower-casing.  `stem` is called with
    a list of distinct tokens and returns the stem of each, which replaces the token ("" leaves it
    out); with None all other tokens are kept.  A token of more than 255 bytes of UTF-8 is kept as
    it is.  Stems are remembered by the hashes of their tokens under `seed`: `limit` of them, or
    more while one call needs them.  Threads may share a vocabulary.
    """

    def __init__(
        self,
        seed: int,
        stop_words: Sequence[str],
        stem: Callable[[list[str]], list[str]] | None,
        *,
        limit: int = ...,
    ) -> None: ...
    @property
    def seed(self) -> int: ...

def cleaned(text: str, *, lowercase: bool, compose: Callable[[str], str], cleaning: int = 0) -> str:
    """Return a text with what looks equal made equal.

    `compose` brings a str into NFC; it is called for a text that the quick check of UAX #15 says
    may not be.  Then characters with the property Default_Ignorable_Code_Point are dropped, and so
    are a hyphen (U+002D or U+00AD) between a letter and a line end, this line end and the
    blanks after it, if a lower-case letter follows.  With `lowercase`, characters that full case
    folding maps to others than their lower case become these (CaseFolding.txt, status C and F), and
    the dot above (U+0307) after i or I is dropped.

    `cleaning` is 0 or a sum of TURKIC, with which I becomes the dotless i, and STRAYS, with which
    control characters other than white space and U+FFF9 to U+FFFC are dropped, too.
    """

# (entries, directory, default) of a `simdb.core.text_sketch.IdfTable`.
Idf = tuple[U64, U32, int]

def project_texts(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    counting: str = "tf",
    vocabulary: Vocabulary | None = None,
    idf: Idf | None = None,
    dimensions: int = 128,
    compose: Callable[[str], str] | None = None,
    cleaning: int = 0,
) -> tuple[I32 | F32, I64]:
    """Return the weights [n, dimensions] and the number of features int64[n] of each text.

    A text is cut into tokens, and `shingle` consecutive tokens make a feature.  (A text with fewer
    tokens has one feature, all of them; a text without tokens has none.)  Each occurrence of a
    feature counts 1: weight j of the text is the number of features whose hash has bit j set minus
    the number of features whose hash has it clear (Sood & Loguinov 2011, Algorithm 1).  Bits 0 to
    63 are the first word of the hash, least significant bit first; bits 64 to 127 are the second
    word.  `dimensions` is 128 or 256; bits 128 to 191 are fmix64(first word xor
    0x3C6EF372FE94F82A), bits 192 to 255 are fmix64(first word xor 0xDAA66D2C7DDF743F).

    `unit` "words": every CJK character (kana, Han, Hangul) is a token, and so is every other
    longest sequence of letters, marks, numbers and connector punctuation.  "spaceless": the same,
    but every letter and mark of any script without spaces between words is a token.  "whitespace":
    every longest sequence without white space (Unicode White_Space) is a token.  "characters":
    every character is a token; white space becomes one space and is dropped at both ends.
    `lowercase` applies the one-to-one (simple) Unicode mapping.  Properties of characters come from
    the built-in table, not from the running Python.  With `compose`, texts are cleaned first; see
    `cleaned`.

    The hash (a, b) of a token is both words of MurmurHash3_x64_128 of its UTF-8 under `seed`.  A
    feature of one token has the hash of that token.  A feature of k > 1 tokens with the hashes
    (a_1, b_1) .. (a_k, b_k) has the hash (fmix64(A), fmix64(B)), where A is the xor of rotl64(a_i,
    23 (k - i) mod 64), B likewise, and fmix64 is the finaliser of MurmurHash3_x64_128.

    `vocabulary` leaves out or replaces tokens; it has the same seed.  `counting`: a feature that
    occurs n times counts n ("tf"), 1 ("binary") or 1 + ln n ("log-tf": in units of 1/1024, rounded,
    n at most 65535).  `idf` multiplies this by the weight of the feature, found by the highest 48
    bits of the first word of its hash, or by the default; a product with 1 + ln n is rounded to
    units (a half up).  Weights are int32 for "tf" and "binary" without `idf`; otherwise they are
    sums in units, divided by 1024 and rounded to float32 once.  The number of features counts
    occurrences for "tf", distinct features otherwise; features with the same first word are one
    feature.

    bytes are UTF-8 text.  Raises InputError, which begins with "document {start + i}", for the
    first text that is neither str nor bytes, is not valid UTF-8 or has a lone surrogate; its cause
    is the UnicodeError.  With `replace`, invalid bytes become U+FFFD and lone surrogates "?"
    instead.  A text of more than 2**31 - 1 features raises InputError too.  `shingle` is 1 to 1024,
    `seed` 0 to 2**32 - 1.
    """

def project_and_sign_texts(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    counting: str,
    family: Family,
    feature_bits: int,
    vocabulary: Vocabulary | None = None,
    idf: Idf | None = None,
    dimensions: int = 128,
    compose: Callable[[str], str] | None = None,
    cleaning: int = 0,
) -> tuple[I32 | F32, I64, U32]:
    """Return what `project_texts` returns, and the signatures that `sign_texts` returns.

    Texts are cut and hashed once.  `counting` is "tf" or "binary".
    """

def project_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    counting: str = "tf",
    vocabulary: Vocabulary | None = None,
    idf: Idf | None = None,
    dimensions: int = 128,
) -> tuple[I32 | F32, I64]:
    """Do the same for documents given as tokens; each token is hashed as it is.

    A bytes token need not be UTF-8 (then it has no stem), and an empty token is a token.  A
    document that is itself a str or bytes raises InputError.
    """

def count_texts(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    vocabulary: Vocabulary | None = None,
    compose: Callable[[str], str] | None = None,
    cleaning: int = 0,
) -> tuple[I64, U64, U32]:
    """Return the distinct features of each text, in the order in which they first occur.

    The arrays are offsets int64[n + 1], hashes uint64[f] (first words) and numbers of occurrences
    uint32[f]; text i has the features offsets[i] .. offsets[i + 1].  The other arguments are those
    of `project_texts`.
    """

def count_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    vocabulary: Vocabulary | None = None,
) -> tuple[I64, U64, U32]:
    """Do the same for documents given as tokens."""

class TextFingerprinter:
    """The settings of one sketch, checked once, with working memory: for one text after the other.

    The arguments are those of `project_texts`.  `dimensions`: 64, 128 or 256 weights are used.
    `width`: bytes of a volatility vector, dimensions / 2, or 0 if none is wanted.  Threads may
    share it.
    """

    def __init__(
        self,
        *,
        unit: str,
        shingle: int,
        lowercase: bool,
        seed: int,
        counting: str,
        vocabulary: Vocabulary | None,
        idf: Idf | None,
        dimensions: int,
        width: int,
        compose: Callable[[str], str] | None = None,
        cleaning: int = 0,
    ) -> None: ...
    def sketch(
        self, text: str | bytes, replace: bool, start: int, is_query: bool
    ) -> tuple[U64, U8, U8 | None, int]:
        """Return bits uint64[1], vectors uint8[1, width], levels, and the number of features.

        They are what `project_texts`, `quantise` and `levels` give.  Levels are uint8[1, 64], None
        unless `is_query`.  `start`: the number of the text in an error message.  A short text is
        sketched without releasing the interpreter lock.
        """

    def weigh(self, text: str | bytes, replace: bool, start: int) -> tuple[int, F32]:
        """Return the bits and the weights float32[dimensions], of which the bits are made."""

def quantise_one(
    weights: F32, *, dimensions: int, width: int, is_rounded: bool, is_query: bool
) -> tuple[U64, U8, U8 | None, int]:
    """Return what `TextFingerprinter.sketch` does of given weights, float32[k].

    Its number of features is that of weights that are not 0.  `dimensions` weights are used:
    repeated from the first one on if there are fewer.  `is_rounded`: if they are the weights of a
    vector, that vector is returned, and 0 features for a vector without any.  Fast to call.
    """

class TextSigner:
    """The same for signatures; the arguments are those of `sign_texts`.

    `stored_bits`: 1, 2, 8 or 32 bits of each minimum are stored.
    """

    def __init__(
        self,
        *,
        unit: str,
        shingle: int,
        lowercase: bool,
        seed: int,
        vocabulary: Vocabulary | None,
        family: Family,
        feature_bits: int,
        stored_bits: int,
        compose: Callable[[str], str] | None = None,
        cleaning: int = 0,
    ) -> None: ...
    def sign(self, text: str | bytes, replace: bool, start: int) -> tuple[U64, U8, int]:
        """Return uint64[1], the packed signature uint8[1, width], and the number of features.

        A minimum of fewer than 32 bits has the highest bits of the minimum of 32 bits times
        multipliers[i] >> 32 | 1.  Those of 1 or 2 bits lie 8 or 4 in a byte, the first in the
        lowest bits.  The word is the key of all minima as one band, or of all bytes, as minima of
        8 bits, where they have fewer than 32.
        """

def keys_of_one(packed: U8, *, stored_bits: int, bands: int, rows: int) -> U64:
    """Return the keys uint64[bands] of one packed signature, as `band_keys` does.  Fast to call."""

def project_moz(
    texts: Sequence[str | bytes], *, window: int, replace: bool, start: int
) -> tuple[I32, I64]:
    """Return weights int32[n, 128], second half 0, and the number of tokens int64[n] of each text.

    These are the weights of simhash-cpp's fingerprint.  A token is a longest sequence of ASCII
    letters, as they are; a text ends at its first U+0000.  The hash of a token is hashlittle2 of
    Jenkins' lookup3 with both seeds 0, the first word in the upper half.  There is one feature for
    each token: feature i is the xor of rotl64(hash of token i - k, k) for k = 0 .. `window` - 1, as
    far as these tokens exist.  Weight j is twice the number of features with bit 63 - j set minus
    the number of those with it clear, or -1 if both numbers are equal; so it is positive exactly if
    simhash-cpp sets bit j.

    Errors are those of `project_texts`; a text has at most 2**30 - 1 features.  `window` is 1 to
    64.
    """

def project_features(
    offsets: I64, hashes: U64, weights: F32 | None, *, dimensions: int = 128
) -> F32:
    """Return weights float32[n, dimensions] of documents given as weighted features.

    Without `weights`, each weighs 1.  Document i has the features
    hashes[offsets[i]:offsets[i + 1]], which are first words; the second word is fmix64(first xor
    0x9E3779B97F4A7C15), and further words are those of `project_texts`.  Weights are
    finite.  Each sum is formed in double precision in the order of the features and rounded once.
    """

def is_utf8(content: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""

def are_utf8(addresses: U64, lengths: I64) -> npt.NDArray[np.bool_]:
    """Return whether each text is valid UTF-8: bool[n].

    A null, of the length -1, counts as valid.  The caller owns the texts.
    """

def quantise(weights: I32 | F32) -> tuple[U64, U8]:
    """Return fingerprints uint64[n] and packed vectors uint8[n, d / 2] of weights [n, d].

    d is 64, 128 or 256.  Bit j of a fingerprint is set if weight j >= 0 (-0.0 included), j = 0 ..
    63.  The half for weight w is q = min(15, max(0, floor(w * scale) + 8)), with scale = 1 / (0.335
    * sqrt(s / d)) and s the sum of squares in the order of j, all in double precision; scale = 0 if
    s = 0.  `_search.Vectors` says where a half is placed.  So q >= 8 exactly if the bit is set.
    Weights that are not finite raise ValueError.
    """

# (name, multipliers, increments) of p permutations, a multiple of 8 up to 1024.
Family = tuple[str, U64, U64]

def hash_words(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    compose: Callable[[str], str] | None = None,
    cleaning: int = 0,
    marked: bool = False,
) -> tuple[I64, U64]:
    """Return the words of each text in order: offsets int64[n + 1] and the first words of hashes.

    The arguments and the errors are those of `count_texts`.  If words are `marked`, markup is left
    out (`sketch/text/markup.h`), and bit 0 of a hash is whether the word begins with a decimal
    digit, bit 1 whether it is one character of a script without spaces.
    """

def hash_parts(
    texts: Sequence[str | bytes],
    *,
    parts: str,
    unit: str,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    compose: Callable[[str], str] | None = None,
    cleaning: int = 0,
) -> tuple[I64, U64, I64]:
    """Cut texts into parts, and hash the words of each part, in order.

    `parts`: "paragraph", "line" or "sentence", see `simdb_ext/sketch/ngrams/parts.h`; the other
    arguments and the errors are those of `count_texts`.  Returns how many parts each text has,
    int64[n], the key of each part, uint64[k], and its number of words, int64[k].
    """

def part_keys(offsets: I64, words: U64) -> U64:
    """Return the keys uint64[k] of parts, by offsets int64[k + 1] and the hashes of their words."""

def part_bounds(text: str, parts: str) -> I64:
    """Return the parts of a text, as `hash_parts` cuts them: int64[k, 3], in characters.

    Where each begins, where it ends, and where the next one begins.  Together with what separates
    them they are the text.
    """

def part_rest(text: str, parts: str, is_dropped: npt.NDArray[np.bool_]) -> str | None:
    """Return what is left of a text without some of its parts; a flag for each: bool[k].

    A part goes with what separates it from the next one, and the text ends as it did before.  None
    if the text does not have k parts.
    """

def ngrams(offsets: I64, words: U64, n: int) -> tuple[I64, U64]:
    """Return the n-grams of documents of words: offsets int64[n + 1] and hashes uint64[k].

    A document of w words has w - n + 1 of them, or none.  If n is not 1, the hashes are those of
    features of n words.  n: from 1 to 32.
    """

class Ngrams:
    """A table of n-grams, given by their hashes uint64[k], which ascend strictly."""

    def __init__(self, hashes: U64) -> None: ...
    def find(self, offsets: I64, words: U64, lengths: Sequence[int]) -> npt.NDArray[np.void]:
        """Return the n-grams of documents of words that are in the table, for n in `lengths`.

        Fields: `document` int32, `position` int32 of the first word in the document, and `entry`
        uint32 in the table.  They come by document, then as in `lengths`, then by position.
        """

class Postings:
    """Which items have the entries of a table of n-grams.

    Entry e is in the items owners[i], from word starts[i] on, for i from bounds[e] to
    bounds[e + 1]: int64[entries + 1], int64[k], int64[k].  `is_first`, bool[k]: one place of an
    entry in an item.  There are so many `items`.
    """

    def __init__(
        self, bounds: I64, owners: I64, starts: I64, is_first: npt.NDArray[np.bool_], items: int
    ) -> None: ...
    def screen(
        self,
        hits: npt.NDArray[np.void],
        documents: int,
        least: npt.NDArray[np.int32],
        spans: I64,
    ) -> tuple[npt.NDArray[np.bool_], U32]:
        """Return which of some documents may have an item, and the entries of each, each once.

        `hits`: see `Ngrams.find`, for one length.  A document may have an item i of which
        least[i] different entries, at most 3, lie within spans[i] words.
        """
    def seeds(
        self,
        hits: npt.NDArray[np.void],
        length: int,
        least: npt.NDArray[np.int32],
        spans: I64,
        is_counted: npt.NDArray[np.bool_],
        is_whole: npt.NDArray[np.bool_],
    ) -> tuple[I64, I64, U32, I64]:
        """Return the pairs of which the document may have the item, and all seeds of each.

        Pairs int64[p, 2] of a document and an item; bounds int64[p + 1] of the seeds of each; the
        entry of each seed, uint32[s]; and its place in the document and the item and its `length`,
        int64[s, 3].  They come by document, item, place in the document and in the item.  An entry
        counts as in `screen` if is_counted[e], all entries of item i if is_whole[i].
        """

def align(
    documents: tuple[I64, U64],
    items: tuple[I64, U64],
    pairs: I64,
    bounds: I64,
    runs: I64,
) -> npt.NDArray[np.void]:
    """Return the passages that documents and items share.

    `documents`, `items`: offsets and words.  Pair p is of document pairs[p, 0] and item
    pairs[p, 1], and has the runs bounds[p] .. bounds[p + 1]: equal words, by their positions in the
    document and in the item and their number, int64[r, 3].  A run grows on both sides over up to
    three changed words in a row; a run that is in a passage of those before it makes none.

    Passages come by pair, then by run, with the fields `pair`, `document_start`, `document_stop`,
    `item_start`, `item_stop`; stops are not in them.
    """

def judge_leaks(
    documents: tuple[I64, U64],
    items: tuple[I64, U64],
    pairs: I64,
    bounds: I64,
    seeds: I64,
    weights: I64,
    least: I64,
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], I64]:
    """Return verdicts on pairs of a document and an item, passages, and runs of equal words.

    The arguments are those of `align`, with marked words; the `seeds` of a pair ascend by document,
    then by item.  `weights`: of each word of the items.  A verdict has the fields `covered`, the
    weight of the words of the item that the document has, `equal`, how many they are, `same`, how
    many of them are numbers, and `other`, for how many numbers of the item it has another one; see
    `sketch/ngrams/leaks.h`.  Pairs with less than least[p] covered have no passages; the others
    also have those of further copies.

    Passages have the fields of `align`, `first_run` and `runs`: their runs, int64[r, 3], as seeds.
    """

def word_places(text: str, *, unit: str) -> I64:
    """Return where each word begins and ends in the text, in characters: int64[n, 2].

    `unit`: "words", "spaceless" or "whitespace".  The text is cut as it is.
    """

def without_markup(text: str) -> tuple[str, npt.NDArray[np.bool_]]:
    """Return a text with spaces for its markup, and which of its characters are left out.

    What markup is says `sketch/text/markup.h`.
    """

def sign_texts(
    texts: Sequence[str | bytes],
    *,
    unit: str,
    shingle: int,
    lowercase: bool,
    seed: int,
    replace: bool,
    start: int,
    family: Family,
    feature_bits: int,
    vocabulary: Vocabulary | None = None,
    compose: Callable[[str], str] | None = None,
    cleaning: int = 0,
) -> tuple[U32, I64]:
    """Return MinHash signatures uint32[n, p] and the number of features int64[n] of each text.

    Features are those of `project_texts`, given by the first word of their hash; so are the other
    arguments and the errors.  Let x be fmix64 of that word; with `feature_bits` 32, both halves of
    x are its highest 32 bits.  Minimum i is the least value of any feature.  With a the multipliers
    and b the increments, the values are:

    "stratified": (a[i] (y | 1) + z) mod 2^32; y is the lower half of x and z the upper, and the
    lower 16 bits of a[i] are 0.
    "multiply-shift": (a[i] y + b[i]) mod 2^32, a odd; y is the lower half of x for even i, the
    upper half for odd i.
    "mersenne": ((a[i] y + b[i]) mod 2^61 - 1) >> 29, a not 0, both below 2^61 - 1; y = x >> 3.
    "one-permutation": with z = fmix64(x + b[0]), a feature has the value z mod 2^32 in bin p (z >>
    32) >> 32 and no value in the other bins.  A bin i without features takes the minimum of bin p
    (d >> 32) >> 32, d = fmix64(b[1] + 2^32 i + t), for the least t = 0, 1 .. whose bin has
    features.

    In a text without features all bits of every minimum are set.
    """

def sign_tokens(
    documents: Sequence[Sequence[str | bytes]],
    *,
    shingle: int,
    seed: int,
    replace: bool,
    start: int,
    family: Family,
    feature_bits: int,
    vocabulary: Vocabulary | None = None,
) -> tuple[U32, I64]:
    """Do the same for documents given as tokens, as `project_tokens` takes them."""

def sign_features(
    offsets: I64, hashes: U64, counts: U32 | None, *, family: Family, feature_bits: int
) -> U32:
    """Return the same signatures for documents given as features with numbers of occurrences.

    Document i has the features hashes[offsets[i]:offsets[i + 1]].  The k-th occurrence of a
    feature, from 0, is the feature whose hash is larger by k * 0x9E3779B97F4A7C15.  If `counts` is
    None, each feature occurs once.
    """

def sign_weighted(offsets: I64, hashes: U64, weights: F32, keys: U64) -> U32:
    """Return signatures uint32[n, p] of documents given as distinct features with finite weights.

    This is consistent weighted sampling: Ioffe 2010, section 3, where S is the weight.  A feature
    takes part if its weight is above 0.  Let x be fmix64 of its hash, w = fmix64(x xor keys[j]) and
    g_k = fmix64(w + k c), with c = 0x9E3779B97F4A7C15; let u(h) = (h + 1/2) / 2^32 for 32 bits h.
    Then r = -ln(u(low half of g_1) u(high half of g_1)), c_2 likewise from g_2, beta = u(high half
    of g_3), t = floor(ln S / r + beta) and ln a = ln c_2 - r (t - beta + 1).  Minimum j is the
    highest 32 bits of fmix64(x + t c) for the feature with the least ln a; without features all its
    bits are set.
    """

def agreements(left: U8 | U32, right: U8 | U32, *, bits: int = 8) -> U16:
    """Return in how many minima rows of `right` [n, p] equal those of `left` [n, p] or [1, p].

    Rows of bytes have minima of `bits` bits: 8, 2 or 1, packed as by `TextSigner`.
    """

def band_keys(minima: U8 | U32, *, bands: int, rows: int, bits: int = 8) -> U64:
    """Return the keys uint64[n, bands] of the bands of signatures [n, p], bands * rows <= p.

    Rows of bytes have minima of `bits` bits: 8, 2 or 1, packed as by `TextSigner`.

    Band b has the minima m_0 .. m_(rows - 1) from b * rows on.  Its key is k_rows, where k_0 =
    fmix64(b + 0x9E3779B97F4A7C15) and k_(j + 1) = fmix64(k_j xor m_j).
    """

def overlaps(
    offsets: I64,
    hashes: U64,
    weights: F32 | None,
    left: I64,
    right: I64,
    *,
    is_least: bool = False,
    missing: int | None = None,
) -> F64:
    """Return the sum over the common features of documents left[i] and right[i]: float64[k].

    Document d has the distinct features hashes[offsets[d]:offsets[d + 1]], at most 2^31 - 1, with
    as many `weights`.  The sum has, for each feature that both documents have, 1 if `weights` is
    None, else the product of its two weights or, with `is_least`, the smaller one.  Without
    weights, counting ends at the feature of the right document by which more than `missing`
    are not in the left one.
    """
