"""Text to features to weights to fingerprints and packed volatility vectors.

Every operation has a scalar definition in C and answers like `simdb.fallback.sketch`, to the bit.
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

def variants() -> list[str]:
    """Names of the variants this processor can run, the slowest ("scalar") first."""

def select(variant: str) -> str:
    """Use `variant` from now on; returns the name of the one in use before."""

def murmur(content: bytes, seed: int) -> tuple[int, int]:
    """Both words of MurmurHash3_x64_128, equal to mmh3's."""

class Vocabulary:
    """What becomes of tokens before they make shingles: stop words go, others get their stem.

    `stop_words`: tokens to leave out, as they stand after lower-casing.  `stem`: called with a
    list of distinct tokens, returns the stem of each ("" leaves the token out); None keeps them.
    A token of more than 255 bytes of UTF-8 is kept as it is.  Stems are remembered by the tokens'
    hashes under `seed`, `limit` of them or more while one call needs them.  May be shared by
    threads.
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

# (entries, directory, default) of a `simdb.idf.IdfTable`.
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
) -> tuple[I32 | F32, I64]:
    """Weights [n, 128] and the number of features int64[n] of each text.

    A text is cut into tokens, `shingle` consecutive tokens are a feature (a text of fewer tokens
    has one feature: all of them; of none, none), and each occurrence of a feature counts 1:
    weight j of the text is the number of features whose hash has bit j set less the number of
    those whose hash has not (Sood & Loguinov 2011, Algorithm 1).  Bits 0 to 63 are the first
    word of the hash, least significant first, 64 to 127 the second.

    `unit` "words": every CJK character (kana, Han, Hangul) is a token, every other longest
    sequence of letters, marks, numbers and connector punctuation is one.  "whitespace": every
    longest sequence without white space (Unicode White_Space) is one.  "characters": every
    character is a token, white space folded to one space and cut off at both ends.  `lowercase`:
    by the one-to-one (simple) Unicode mapping.  Character properties are those of the table built
    in, not of the running Python.

    The hash (a, b) of a token is both words of MurmurHash3_x64_128 of its UTF-8 under `seed`.
    That of a feature of one token is the token's.  That of k > 1 tokens (a_1, b_1) .. (a_k, b_k)
    is (fmix64(A), fmix64(B)), A = xor of rotl64(a_i, 23 (k - i) mod 64), B likewise, with fmix64
    the finaliser of MurmurHash3_x64_128.

    `vocabulary`: what becomes of the tokens; of the same seed.  `counting`: a feature that occurs
    n times counts n ("tf"), 1 ("binary") or 1 + ln n ("log-tf": in units of 1/1024, rounded, n at
    most 65535).  `idf` multiplies that with the weight of the feature, found by the highest 48
    bits of the first word of its hash, or with the default; a product with 1 + ln n is rounded to
    units (a half up).  Weights are int32 for "tf" and "binary" without `idf`, otherwise sums in
    units, divided by 1024 and rounded to float32 once.  The number of features is that of the
    occurrences for "tf", of distinct features otherwise; features of one first word are one.

    bytes are UTF-8 text.  Raises InputError that begins with "document {start + i}" for the first
    text that is neither str nor bytes, is not valid UTF-8 or has a lone surrogate, with the
    UnicodeError as its cause; with `replace` those are replaced (by U+FFFD, "?") instead.  The
    same for a text of more than 2**31 - 1 features.  `shingle` is 1 to 1024, `seed` 0 to 2**32 - 1.
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
) -> tuple[I32 | F32, I64]:
    """The same for documents whose tokens are given; each token is hashed as it is.

    A bytes token need not be UTF-8 (such a one has no stem), and an empty token is one.  A
    document that is itself a str or bytes is an InputError.
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
) -> tuple[I64, U64, U32]:
    """The distinct features of each text, in the order in which they first occur.

    offsets int64[n + 1], hashes uint64[f] (first words) and numbers of occurrences uint32[f]; those
    of text i at offsets[i] .. offsets[i + 1].  The other arguments as above.
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
    """The same for documents whose tokens are given."""

def project_moz(
    texts: Sequence[str | bytes], *, window: int, replace: bool, start: int
) -> tuple[I32, I64]:
    """Weights int32[n, 128], the second half 0, and the number of tokens int64[n] of each text.

    The fingerprint of simhash-cpp.  A token is a longest sequence of ASCII letters, as they are;
    a text ends at its first U+0000.  Its hash is hashlittle2 of Jenkins' lookup3 with both seeds
    0, the first word in the upper half.  Feature i, one for each token, is the xor of
    rotl64(hash of token i - k, k) for k = 0 .. `window` - 1, as far as there are so many tokens.
    Weight j is twice the number of features with bit 63 - j set less those without, or -1 where
    these are as many: so it is positive exactly where simhash-cpp sets bit j.

    Errors are those of `project_texts`; the most features are 2**30 - 1.  `window` is 1 to 64.
    """

def project_features(offsets: I64, hashes: U64, weights: F32 | None) -> F32:
    """Weights float32[n, 128] of documents given as features with weights (1 where None).

    hashes[offsets[i]:offsets[i + 1]] are document i's, the first word of each; the second is
    fmix64(first xor 0x9E3779B97F4A7C15).  Weights are finite; each is summed in double precision
    in the order of the features and rounded once.
    """

def quantise(weights: I32 | F32) -> tuple[U64, U8]:
    """Fingerprints uint64[n] and packed vectors uint8[n, d / 2] of weights [n, d], d 64 or 128.

    Bit j of a fingerprint is set where weight j >= 0 (-0.0 included), j = 0 .. 63.  The half for
    weight w is q = min(15, max(0, floor(w * scale) + 8)), with scale = 1 / (0.335 * sqrt(s / d)),
    s the sum of squares in order of j, all in double precision; scale = 0 where s = 0.  A half is
    placed as `_search.Vectors` says.  So q >= 8 exactly where the bit is set.  Weights that are not
    finite are a ValueError.
    """

# (name, multipliers, increments) of p permutations, a multiple of 8 up to 1024.
Family = tuple[str, U64, U64]

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
) -> tuple[U32, I64]:
    """MinHash signatures uint32[n, p] and the number of features int64[n] of each text.

    Features are those of `project_texts`, by the first word of their hash, and so are the other
    arguments and the errors.  Let x be fmix64 of that word; with `feature_bits` 32 both halves of x
    are its highest 32 bits.  Minimum i is the least value of any feature, with a the multipliers
    and b the increments:

    "multiply-shift": (a[i] y + b[i]) mod 2^32, a odd; y is the lower half of x for even i, the
    upper for odd i.
    "mersenne": ((a[i] y + b[i]) mod 2^61 - 1) >> 29, a not 0, both below 2^61 - 1; y = x >> 3.
    "one-permutation": let z = fmix64(x + b[0]).  A feature has the value z mod 2^32 in bin
    p (z >> 32) >> 32 and none in others.  A bin i without features takes the minimum of bin
    p (d >> 32) >> 32, d = fmix64(b[1] + 2^32 i + t), for the least t = 0, 1 .. whose bin has any.

    All bits are set in every minimum of a text without features.
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
    """The same for documents whose tokens are given, as `project_tokens` takes them."""

def sign_features(
    offsets: I64, hashes: U64, counts: U32 | None, *, family: Family, feature_bits: int
) -> U32:
    """The same signatures of documents given as features, of which each occurs so often.

    hashes[offsets[i]:offsets[i + 1]] are document i's.  The k-th occurrence of a feature, from 0,
    is the feature whose hash is k * 0x9E3779B97F4A7C15 more.  None: each occurs once.
    """

def sign_weighted(offsets: I64, hashes: U64, weights: F32, keys: U64) -> U32:
    """Signatures uint32[n, p] of documents given as distinct features with finite weights.

    Consistent weighted sampling: Ioffe 2010, section 3, where S is the weight.  A feature takes
    part if that is above 0.  Let x be fmix64 of its hash and w = fmix64(x xor keys[j]), and let g_k
    be fmix64(w + k c), c = 0x9E3779B97F4A7C15.  u(h) = (h + 1/2) / 2^32 for 32 bits h.  Then
    r = -ln(u(low half of g_1) u(high half of g_1)), c likewise of g_2, beta = u(high half of g_3),
    t = floor(ln S / r + beta) and ln a = ln c - r (t - beta + 1).  Minimum j is the highest 32 bits
    of fmix64(x + t c) of the feature with the least ln a, all bits where there is none.
    """

def agreements(left: U8 | U32, right: U8 | U32) -> U16:
    """In how many places each row of `right` [n, p] equals that of `left` [n, p] or [1, p]."""

def band_keys(minima: U8 | U32, *, bands: int, rows: int) -> U64:
    """Keys uint64[n, bands] of the bands of signatures [n, p], bands * rows <= p.

    That of band b, of the minima m_0 .. m_(rows - 1) from b * rows on, is k_rows, with
    k_0 = fmix64(b + 0x9E3779B97F4A7C15) and k_(j + 1) = fmix64(k_j xor m_j).
    """
