"""Operations from text to features, weights, fingerprints, volatility vectors and signatures.

The scalar variant of each C function defines its result.  All variants return the same results, to
the bit.
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
    """Return the names of the variants this processor can run, from "scalar" to the fastest."""

def select(variant: str) -> str:
    """Switch to `variant`; return the name of the variant used before.

    Raises ValueError for a variant that this processor cannot run.
    """

class Vocabulary:
    """The tokens that are omitted or replaced before tokens make shingles; threads may share it.

    `seed`: 0 to 2**32 - 1, the seed of the hashes of tokens.
    `stop_words`: tokens that are omitted, spelled as after conversion to lower case.
    `stem`: called with a list of distinct tokens; returns the stem of each, which replaces the
    token.  The stem "" omits the token.  None: all tokens except stop words are kept.
    `limit`: the number of stems that are remembered; more are held while one call needs them.

    A token of more than 255 bytes of UTF-8 is kept unchanged.
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
    """Return a text in which parts that look equal are equal.

    `lowercase`: whether case is folded; see below.
    `compose`: converts a str to NFC.  It is called unless the quick check of UAX #15 rules out a
    change.
    `cleaning`: 0 or a sum of TURKIC (I becomes the dotless i) and STRAYS (control characters other
    than white space, and U+FFF9 to U+FFFC, are dropped).

    Characters with the property Default_Ignorable_Code_Point are dropped.  A word that is
    hyphenated at a line end is joined: its hyphen (U+002D or U+00AD), the line end and blanks after
    it are dropped.  The hyphen must follow a letter and precede a lower-case letter.

    With `lowercase`, full case folding (CaseFolding.txt, status C and F) applies to characters
    whose folding is not their lower case.  The dot above (U+0307) after i or I is dropped.
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

    `texts`: str, or bytes in UTF-8.
    `unit`: the kind of token: "words", "spaceless", "whitespace" or "characters", see below.
    `shingle`: 1 to 1,024, the number of consecutive tokens that make a feature.
    `lowercase`: whether characters become lower case, by the one-to-one (simple) Unicode mapping.
    `seed`: 0 to 2**32 - 1.
    `replace`: whether invalid bytes become U+FFFD and lone surrogates "?", rather than raise.
    `start`: the number of the first text in error messages.
    `counting`: a feature that occurs n times counts n ("tf"), 1 ("binary") or 1 + ln n ("log-tf").
    `vocabulary`: omits or replaces tokens; it has the same seed.
    `idf`: a table of weights, by which these counts are multiplied.
    `dimensions`: 128 or 256.
    `compose`, `cleaning`: with `compose`, texts are cleaned first, see `cleaned`.

    Tokens: For "words", each CJK character (kana, Han, Hangul) is a token.  So is any other longest
    sequence of letters, marks, numbers and connector punctuation.  "spaceless" differs in that each
    letter and mark of a script without spaces between words is a token.  For "whitespace", each
    longest sequence without white space (Unicode White_Space) is a token.  For "characters", each
    character is a token; white space becomes one space, and is dropped at both ends.  Properties of
    characters are from the built-in table, not from the running Python.

    Features: A text with fewer tokens than `shingle` has one feature, all of them.  A text without
    tokens has none.  The hash (a, b) of a token is both words of MurmurHash3_x64_128 of its UTF-8
    under `seed`, and also the hash of a feature of one token.  A feature of k > 1 tokens with the
    hashes (a_1, b_1) .. (a_k, b_k) has the hash (fmix64(A), fmix64(B)).  Here A is the xor of
    rotl64(a_i, 23 (k - i) mod 64), B likewise, and fmix64 is the finaliser of MurmurHash3_x64_128.

    Weights: Weight j is the sum of the counts of the features whose hash has bit j set, minus all
    other counts (Sood & Loguinov 2011, Algorithm 1).  Bits 0 to 63 are the first word of the
    hash, least significant bit first, and bits 64 to 127 the second word.  Bits 128 to 191 are
    fmix64(first word xor 0x3C6EF372FE94F82A), and bits 192 to 255 are fmix64(first word xor
    0xDAA66D2C7DDF743F).

    Counts: 1 + ln n is rounded to units of 1/1024, and n is at most 65,535.  `idf` has the weight
    of a feature by the highest 48 bits of the first word, and a default.  Its product with 1 + ln n
    is rounded to units, a half up.  For "tf" and "binary" without `idf`, weights are int32; else
    they are sums in units, divided by 1024 and rounded once to float32.  The number of features
    counts occurrences for "tf", else distinct features, which differ in their first words.

    Raises InputError for the first text that is neither str nor bytes, is not valid UTF-8 or has a
    lone surrogate; its cause is the UnicodeError.  The message begins with "document {start + i}".
    A text of more than 2**31 - 1 features raises InputError, too.
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
    """Return the results of `project_texts`, and the signatures of `sign_texts`.

    Texts are cut and hashed once.  `counting` is "tf" or "binary".  Other arguments: see both.
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
    """Return the results of `project_texts` for documents given as tokens.

    `documents`: sequences of tokens, each of which is hashed unchanged.  A bytes token need not be
    UTF-8 (then it has no stem), and an empty token is a token.

    Other arguments: see `project_texts`.  A document that is itself a str or bytes raises
    InputError.
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
    uint32[f]; text i has the features offsets[i] .. offsets[i + 1].  Arguments: see
    `project_texts`.
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
    """Return the results of `count_texts` for documents given as tokens; see `project_tokens`."""

class TextFingerprinter:
    """The checked settings of a sketch, with working memory, for one text after another.

    `dimensions`: 64, 128 or 256 weights.
    `width`: dimensions / 2, the bytes of a volatility vector; 0 for no vector.

    Other arguments: see `project_texts`.  Threads may share it.
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

        `replace`, `start`: see `project_texts`.
        `is_query`: whether levels uint8[1, 64] are returned, else None.

        The results equal the results of `project_texts`, `quantise` and `levels`.  A short text is
        sketched without releasing the interpreter lock.
        """

    def weigh(self, text: str | bytes, replace: bool, start: int) -> tuple[int, F32]:
        """Return the bits and the weights float32[dimensions] from which the bits are made."""

def quantise_one(
    weights: F32, *, dimensions: int, width: int, is_rounded: bool, is_query: bool
) -> tuple[U64, U8, U8 | None, int]:
    """Return the results of `TextFingerprinter.sketch` for given weights; fast to call.

    `weights`: float32[k]; if k is below `dimensions`, they are repeated, starting with the first.
    `dimensions`, `width`, `is_query`: see `TextFingerprinter`.
    `is_rounded`: whether weights may be from a packed vector; if so, that vector is returned.

    The number of features is the number of weights that are not 0; for a vector without features it
    is 0.
    """

class TextSigner:
    """The checked settings of a signature, with working memory, for one text after another.

    `stored_bits`: 1, 2, 8 or 32, the bits of each minimum that are stored.

    Other arguments: see `sign_texts`.  Threads may share it.
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

        A stored minimum of fewer than 32 bits has the highest bits of (minimum of 32 bits) times
        (multipliers[i] >> 32 | 1).  Minima of 1 or 2 bits lie 8 or 4 in a byte, the first in the
        lowest bits.

        The word is the key of all minima as one band.  If minima have fewer than 8 bits, it is the
        key of all bytes, as minima of 8 bits.
        """

def keys_of_one(packed: U8, *, stored_bits: int, bands: int, rows: int) -> U64:
    """Return the keys uint64[bands] of one packed signature, as `band_keys` does; fast to call."""

def project_moz(
    texts: Sequence[str | bytes], *, window: int, replace: bool, start: int
) -> tuple[I32, I64]:
    """Return weights int32[n, 128], second half 0, and the number of tokens int64[n] of each text.

    `texts`, `replace`, `start`: see `project_texts`.
    `window`: 1 to 64 tokens.

    These are the weights of simhash-cpp's fingerprint.  A token is a longest sequence of ASCII
    letters, unchanged; a text ends at its first U+0000.  The hash of a token is hashlittle2 of
    Jenkins' lookup3 with both seeds 0, the first word in the upper half.

    There is one feature for each token: feature i is the xor of rotl64(hash of token i - k, k) for
    k = 0 .. `window` - 1, as far as these tokens exist.  Weight j is 2 (s - c) if s features
    have bit 63 - j set and c have it clear, but -1 if s = c.  So it is positive exactly if
    simhash-cpp sets bit j.

    Errors: see `project_texts`; a text has at most 2**30 - 1 features.
    """

def project_features(
    offsets: I64, hashes: U64, weights: F32 | None, *, dimensions: int = 128
) -> F32:
    """Return weights float32[n, dimensions] of documents given as weighted features.

    `offsets`, `hashes`: document i has the features hashes[offsets[i]:offsets[i + 1]].
    `weights`: finite, one for each feature; None: each weighs 1.
    `dimensions`: 128 or 256.

    Hashes are first words.  The second word is fmix64(first xor 0x9E3779B97F4A7C15), and further
    words are as in `project_texts`.  Each sum is formed in double precision in the order of the
    features, and rounded once.
    """

def is_utf8(content: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""

def are_utf8(addresses: U64, lengths: I64) -> npt.NDArray[np.bool_]:
    """Return whether each text is valid UTF-8: bool[n].

    `addresses`, `lengths`: the texts in memory, which the caller keeps alive.  A null, of length
    -1, counts as valid.
    """

def quantise(weights: I32 | F32) -> tuple[U64, U8]:
    """Return fingerprints uint64[n] and packed vectors uint8[n, d / 2] of weights [n, d].

    d is 64, 128 or 256.  Bit j = 0 .. 63 is set if weight j >= 0 (-0.0 included).

    The half for weight w is q = min(15, max(0, floor(w * scale) + 8)), so q >= 8 exactly if the bit
    is set.  The scale is 1 / (0.335 * sqrt(s / d)), where s is the sum of squares in the order of
    j.  It is 0 if s = 0.  All arithmetic is in double precision.  `_search.Vectors` says where a
    half is placed.

    Raises ValueError for weights that are not finite.
    """

# (name, multipliers, increments) of p permutations, a multiple of 8 up to 1,024; see `sign_texts`.
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
    """Return the words of each text, in order: offsets int64[n + 1] and first words of hashes.

    `marked`: whether markup is omitted (`sketch/text/markup.h`) and hashes have marks.  Bit 0 of a
    hash then says whether the word begins with a decimal digit.  Bit 1 says whether it is one
    character of a script without spaces.

    Other arguments and errors: see `project_texts`.
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

    `parts`: "paragraph", "line" or "sentence", see `simdb_ext/sketch/ngrams/parts.h`.

    Returns the number of parts of each text, int64[n], the key of each part, uint64[k], and the
    number of its words, int64[k].  Other arguments and errors: see `project_texts`.
    """

def part_keys(offsets: I64, words: U64) -> U64:
    """Return the keys uint64[k] of parts.

    `offsets`, `words`: part i has the hashes words[offsets[i]:offsets[i + 1]].
    """

def part_bounds(text: str, parts: str) -> I64:
    """Return the bounds of the parts of a text, as `hash_parts` cuts them: int64[k, 3].

    A row has the positions, in characters, where a part begins, where it ends and where the next
    begins.  Parts and separators together are the whole text.
    """

def part_rest(text: str, parts: str, is_dropped: npt.NDArray[np.bool_]) -> str | None:
    """Return a text without some of its parts; None if it does not have k parts.

    `is_dropped`: bool[k], a flag for each part.

    The separator after a part is dropped with it, and the text ends as it did before.
    """

def ngrams(offsets: I64, words: U64, n: int) -> tuple[I64, U64]:
    """Return the n-grams of documents of words: offsets int64[d + 1] and hashes uint64[k].

    `offsets`, `words`: document i has the hashes words[offsets[i]:offsets[i + 1]].
    `n`: 1 to 32.

    A document of w words has w - n + 1 n-grams, or none.  If n is above 1, they are hashed like
    features of n words.
    """

class Ngrams:
    """A table of n-grams, given by their hashes uint64[k] in strictly ascending order."""

    def __init__(self, hashes: U64) -> None: ...
    def find(self, offsets: I64, words: U64, lengths: Sequence[int]) -> npt.NDArray[np.void]:
        """Return the n-grams of documents that are in the table, for each n of `lengths`.

        `offsets`, `words`: see `ngrams`.

        The fields are `document` int32, `position` int32 of the first word in the document, and
        `entry` uint32 in the table.  Hits are in the order of document, `lengths`, position.
        """

class Postings:
    """The items in which the entries of a table of n-grams occur.

    `bounds`: int64[entries + 1]; entry e has the places bounds[e] to bounds[e + 1].
    `owners`, `starts`: int64[k], the item of each place and the position of its first word there.
    `is_first`: bool[k], set at one place of each entry in each item.
    `items`: the number of items.
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
        """Return which documents may contain an item, and the distinct entries of each document.

        `hits`: from `Ngrams.find`, for one length.
        `documents`: the number of documents.
        `least`, `spans`: for each item, a number of different entries, at most 3, and a number of
        words.  A document may contain item i if least[i] of its entries lie within spans[i] words.

        Returns bool[documents], and uint32 with the entries of one document after another.
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
        """Return pairs of a document and an item that it may contain, and the seeds of each.

        `hits`, `least`, `spans`: see `screen`.
        `length`: the words of an n-gram.
        `is_counted`: bool, the entries that count for `least`.
        `is_whole`: bool, the items for which all entries count.

        Returns four arrays:

        `pairs`: int64[p, 2], document and item.
        `bounds`: int64[p + 1]; pair i has the seeds bounds[i] to bounds[i + 1].
        `entries`: uint32[s], the entry of each seed.
        `seeds`: int64[s, 3], position in the document, position in the item, and `length`.

        Pairs are in the order of document and item, seeds in the order of both positions.
        """

def align(
    documents: tuple[I64, U64],
    items: tuple[I64, U64],
    pairs: I64,
    bounds: I64,
    runs: I64,
) -> npt.NDArray[np.void]:
    """Return the passages that documents and items share.

    `documents`, `items`: offsets and words of both, see `ngrams`.
    `pairs`: int64[p, 2], document and item.
    `bounds`, `runs`: pair i has the runs bounds[i] to bounds[i + 1] of int64[r, 3].  A run is equal
    words: position in the document, position in the item, number of words.

    A run grows on both sides, over up to three changed words in a row.  A run inside a passage of
    an earlier run makes no passage.

    Passages are in the order of pairs, then of runs.  The fields are `pair`, `document_start`,
    `document_stop`, `item_start` and `item_stop`; ranges are half open.
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

    `documents`, `items`, `pairs`, `bounds`: see `align`, with marked words.
    `seeds`: runs, see `align`; within a pair, in the order of document, then of item.
    `weights`: int64, the weight of each word of the items.
    `least`: int64[p], the least `covered` for which a pair has passages.

    A verdict has these fields; see `sketch/ngrams/leaks.h`.

    `covered`: the weight of the words of the item that the document has.
    `equal`: their number.
    `same`: how many of them are numbers.
    `other`: the number of numbers of the item in whose place the document has another.

    Passages have the fields of `align`, and `first_run` and `runs`, which are their runs in the
    third array, int64[r, 3].  They include further copies of the item that reach `least`.
    """

def word_places(text: str, *, unit: str) -> I64:
    """Return where each word begins and ends in the text, in characters: int64[n, 2].

    `unit`: "words", "spaceless" or "whitespace".  The text is cut without conversion to lower case
    or cleaning.
    """

def without_markup(text: str) -> tuple[str, npt.NDArray[np.bool_]]:
    """Return a text with spaces in place of its markup, and which characters were omitted: bool[k].

    `sketch/text/markup.h` defines markup.
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

    `family`: the permutations: name, multipliers a and increments b.
    `feature_bits`: 32 or 64; with 32, both halves of x below are its highest 32 bits.

    Other arguments and errors: see `project_texts`.  Minimum i is the least value that permutation
    i gives to any feature.  In a text without features, all bits of every minimum are set.  A
    feature is the first word of its hash, and x is fmix64 of it.  Its values are:

    "stratified": (a[i] (y | 1) + z) mod 2^32, with y the lower half of x and z the upper.  The
    lower 16 bits of a[i] are 0.

    "multiply-shift": (a[i] y + b[i]) mod 2^32, with a[i] odd.  For even i, y is the lower half of
    x, for odd i the upper.

    "mersenne": ((a[i] y + b[i]) mod 2^61 - 1) >> 29, with y = x >> 3.  a[i] is not 0, and both are
    below 2^61 - 1.

    "one-permutation": with z = fmix64(x + b[0]), the value z mod 2^32 in bin p (z >> 32) >> 32, and
    none in all other bins.  A bin i without features takes the minimum of bin p (d >> 32) >> 32,
    with d = fmix64(b[1] + 2^32 i + t).  Here t is the least of 0, 1 .. for which that bin has
    features.
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
    """Return the results of `sign_texts` for documents given as tokens; see `project_tokens`."""

def sign_features(
    offsets: I64, hashes: U64, counts: U32 | None, *, family: Family, feature_bits: int
) -> U32:
    """Return MinHash signatures uint32[n, p] of documents given as features.

    `offsets`, `hashes`: document i has the features hashes[offsets[i]:offsets[i + 1]].
    `counts`: uint32, occurrences of each feature; None: 1 each.  The k-th occurrence, from 0, is a
    feature of its own, with the hash increased by k * 0x9E3779B97F4A7C15.
    `family`, `feature_bits`: see `sign_texts`.
    """

def sign_weighted(offsets: I64, hashes: U64, weights: F32, keys: U64) -> U32:
    """Return signatures uint32[n, p] of documents given as distinct features with weights.

    `offsets`, `hashes`: document i has the features hashes[offsets[i]:offsets[i + 1]].
    `weights`: finite; a feature counts if its weight is above 0.
    `keys`: uint64[p], one for each minimum.

    This is consistent weighted sampling: Ioffe 2010, section 3, where S is the weight.  Let x be
    fmix64 of the hash of a feature and w = fmix64(x xor keys[j]).  Let g_k = fmix64(w + k c) with c
    = 0x9E3779B97F4A7C15.  For 32 bits h, let u(h) = (h + 1/2) / 2^32.

    Then r = -ln(u(low half of g_1) u(high half of g_1)), and c_2 likewise from g_2.  With beta =
    u(high half of g_3), t = floor(ln S / r + beta) and ln a = ln c_2 - r (t - beta + 1).  Minimum j
    is the highest 32 bits of fmix64(x + t c) for the feature with the least ln a.  Without
    features, all its bits are set.
    """

def agreements(left: U8 | U32, right: U8 | U32, *, bits: int = 8) -> U16:
    """Return the number of equal minima of rows of `left` and `right`: uint16[n].

    `left`, `right`: [n, p]; `left` may also be [1, p], which is compared with all rows.
    `bits`: 8, 2 or 1, the bits of a minimum in rows of bytes, packed as by `TextSigner`.
    """

def band_keys(minima: U8 | U32, *, bands: int, rows: int, bits: int = 8) -> U64:
    """Return the keys uint64[n, bands] of the bands of signatures [n, p], bands * rows <= p.

    `bits`: 8, 2 or 1, the bits of a minimum in rows of bytes, packed as by `TextSigner`.

    Band b has the minima m_0 .. m_(rows - 1), starting at b * rows.  Its key is k_rows, where k_0 =
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

    `offsets`, `hashes`: document d has the distinct features hashes[offsets[d]:offsets[d + 1]], at
    most 2^31 - 1.
    `weights`: one for each feature.  A common feature adds the product of its two weights.  None:
    it adds 1.
    `is_least`: whether it adds the smaller weight instead of the product.
    `missing`: without weights, counting ends once more than this number of features of the right
    document are not in the left one.
    """
