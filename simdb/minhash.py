"""The options of MinHash signatures: how a document becomes some minima."""

from dataclasses import dataclass
from typing import ClassVar

from simdb.checks import one_of, whole
from simdb.errors import OptionError
from simdb.text_sketch import TextSketch

FAMILIES = MULTIPLY_SHIFT, MERSENNE, ONE_PERMUTATION = (
    "multiply-shift", "mersenne", "one-permutation",
)  # fmt: skip
# Of signatures that come ready, as datasketch makes them: there is nothing to sign texts by.
READY_FAMILIES = AFFINE32, LEGACY = ("datasketch-affine32", "datasketch-legacy")
SETS = SET, BAG = ("set", "bag")
PERMUTATIONS_LEAST, PERMUTATIONS_MOST = 16, 1024
PERMUTATIONS_STEP = 8  # what the kernel does at a time
STORED_BITS = (8, 32)
FEATURE_BITS = (32, 64)
USUAL_SIMILARITY = 0.8  # of Jaccard


@dataclass(frozen=True, slots=True, kw_only=True)
class Minhash(TextSketch):
    """How a document becomes a signature, whose minima agree as often as documents are similar.

    A text goes through the steps of `TextSketch`, of which the last is:

    8. `weighting`: "set": a feature is there or not, and similarity is that of Jaccard.  "bag":
       the second occurrence of a feature is a feature of its own, and so on.  "tf" and "tf-idf":
       a feature weighs as often as it occurs, times its weight in `idf`, an `IdfTable`, and
       similarity is sum min / sum max of the weights, by consistent weighted sampling (Ioffe
       2010), which takes many times longer.

    `permutations`: how many minima, a multiple of 8 from 16 to 1024.  `stored_bits` of each: 32,
    or 8 made of them, which agree by chance once in 256 (Li & Koenig 2010); that is allowed for.
    `family`: of which permutations.  "multiply-shift": (a x + b) mod 2^32 (Dietzfelbinger et al.
    1997), fast; the even ones of one half of a hash, the odd ones of the other.  "mersenne":
    (a x + b) mod 2^61 - 1 (Carter & Wegman 1979).  "one-permutation": one hash for each feature,
    into as many bins as `permutations` (Li, Owen & Zhang 2012); bins without a feature take the
    minimum of another (Shrivastava 2017).  Faster for many permutations, and less exact for
    documents of fewer features than bins.  It has no meaning for "tf" and "tf-idf".
    "datasketch-affine32" and "datasketch-legacy": signatures come ready, as `Signature`s, from
    `simdb.compat.datasketch`, and texts are refused.
    `feature_bits`: features are told apart by so many bits of their hashes: 64, or 32.  `seed` of
    the hash of features and of the permutations.
    """

    WEIGHTINGS: ClassVar[tuple[str, ...]] = (*SETS, "tf", "tf-idf")

    weighting: str = SET
    permutations: int = 128
    stored_bits: int = 32
    family: str = MULTIPLY_SHIFT
    feature_bits: int = 64

    def __post_init__(self) -> None:
        """Raise OptionError for a value that cannot be."""
        self._check_steps()
        whole("permutations", self.permutations, PERMUTATIONS_LEAST, PERMUTATIONS_MOST)
        if self.permutations % PERMUTATIONS_STEP:
            raise OptionError(
                f"permutations is a multiple of {PERMUTATIONS_STEP}, not {self.permutations}"
            )
        one_of("stored_bits", self.stored_bits, STORED_BITS)
        one_of("family", self.family, (*FAMILIES, *READY_FAMILIES))
        one_of("feature_bits", self.feature_bits, FEATURE_BITS)
        if self.unit == "moz":
            raise OptionError("unit='moz' is of fingerprints only; use simdb.Simhash.moz()")
        if not self.is_of_sets and self.family != MULTIPLY_SHIFT:
            raise OptionError(
                f"family={self.family!r} has no meaning beside weighting={self.weighting!r}, which"
                " has samples in place of permutations; leave it out, or take weighting='bag'"
            )
        self._check_idf()

    @property
    def is_of_sets(self) -> bool:
        """Whether features are counted, not weighed: "set" and "bag"."""
        return self.weighting in SETS

    @property
    def is_ready(self) -> bool:
        """Whether signatures come ready, so that texts cannot be signed."""
        return self.family in READY_FAMILIES

    @property
    def counting(self) -> str:
        """What a feature that occurs n times counts before IDF: 1 in a "set", else n."""
        return "binary" if self.weighting == SET else "tf"

    @property
    def usual_similarity(self) -> float:
        """What counts as similar where nobody says."""
        return USUAL_SIMILARITY

    @property
    def vector_bytes(self) -> int:
        """Bytes of one signature as it is stored."""
        return self.permutations * self.stored_bits // 8
