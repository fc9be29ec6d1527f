"""Minhash: the options of MinHash signatures, which say how a document becomes minima."""

from dataclasses import dataclass
from typing import ClassVar

from simdb.ground.checks import one_of, whole
from simdb.ground.choices import FamilyName, MinhashWeightingName
from simdb.ground.errors import OptionError
from simdb.ground.foreign import answering_class
from simdb.settings.text_sketch import TextSketch

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
STORED_BITS = (8, 32)
FEATURE_BITS = (32, 64)
USUAL_SIMILARITY = 0.8  # Jaccard


@answering_class
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Minhash(TextSketch):
    """The options of a MinHash sketch: two signatures agree in as many minima as documents agree.

    A text goes through the steps of `TextSketch`.  The last step is:

    8. `weighting`: "set": a feature occurs or not, and the similarity is Jaccard's.  "bag": the
       second occurrence of a feature is another feature, and so on.  "tf" and "tf-idf": a feature
       weighs as often as it occurs, times its weight in `idf`, an `IdfTable`; the similarity is
       sum min / sum max of the weights, by consistent weighted sampling (Ioffe 2010), which takes
       many times longer.

    `permutations`: the number of minima, from 1 to 1024; multiples of 8 take least time.
    The fewer, the more an estimate scatters: its standard error is up to 0.5 / sqrt(permutations).
    `stored_bits`: the bits of each stored minimum, 32 or 8.  Two minima of 8 bits agree by chance
    once in 256 (Li & Koenig 2010); estimates allow for that.
    `family`: the family of permutations.
    "stratified": the values that the permutations give to one feature are evenly spaced, from a
    start and in an order that its hash gives, so every feature is small in as many permutations as
    any other, and estimates vary less than with independent permutations: of texts with up to 100
    features the standard error is three quarters of it, with 500 nine tenths.
    "multiply-shift": (a x + b) mod 2^32 (Dietzfelbinger et al. 1997); x is one half of a hash for
    even permutations and the other half for odd ones.
    "mersenne": (a x + b) mod 2^61 - 1 (Carter & Wegman 1979).
    "one-permutation": one hash of each feature chooses one of as many bins as `permutations` (Li,
    Owen & Zhang 2012); a bin without a feature takes the minimum of another bin (Shrivastava 2017).
    It is faster for many permutations, less exact for documents with fewer features than bins, and
    has no meaning for "tf" and "tf-idf".
    "datasketch-affine32", "datasketch-legacy", "datasketch-affine64" and "datasketch-weighted":
    signatures come from `simdb.compat.datasketch` as `Signature`s; texts are refused.
    `feature_bits`: the bits of a hash that tell features apart, 64 or 32.
    `seed`: the seed of the feature hash and of the permutations.
    """

    WEIGHTINGS: ClassVar[tuple[str, ...]] = (*SETS, "tf", "tf-idf")

    weighting: MinhashWeightingName = "set"
    permutations: int = 128
    stored_bits: int = 32
    family: FamilyName = "stratified"
    feature_bits: int = 64

    def __post_init__(self) -> None:
        """Raise OptionError for an impossible value."""
        self._check_steps()
        whole("permutations", self.permutations, PERMUTATIONS_LEAST, PERMUTATIONS_MOST)
        one_of("stored_bits", self.stored_bits, STORED_BITS)
        one_of("family", self.family, (*FAMILIES, *READY_FAMILIES))
        one_of("feature_bits", self.feature_bits, FEATURE_BITS)
        if self.unit == "moz":
            raise OptionError("unit='moz' works only with fingerprints; use simdb.Simhash.moz()")
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
    def counting(self) -> str:
        """The count of a feature that occurs n times, before IDF: "binary" (1) or "tf" (n)."""
        return "binary" if self.weighting == SET else "tf"

    @property
    def usual_similarity(self) -> float:
        """The threshold of a query that gives none: 0.8."""
        return USUAL_SIMILARITY

    @property
    def vector_bytes(self) -> int:
        """The bytes of one stored signature."""
        return self.permutations * self.stored_bits // 8
