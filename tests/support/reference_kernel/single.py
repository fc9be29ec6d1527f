"""Single texts: sketches one text at a time, in numpy.

The classes give the same answers as those of `simdb_ext._sketch`; its stub has the contracts.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from reference_kernel import sketch
from reference_kernel.flips import levels
from reference_kernel.minima import band_keys, check_family
from reference_kernel.vocabulary import Vocabulary
from simdb.sketch.permutations import Family, narrowed
from simdb.sketch.weighing import Idf
from simdb.vector_form import pack_minima, unpack_minima

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]


class TextFingerprinter:
    """Makes the fingerprint, vector and levels of one text after the other."""

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
    ) -> None:
        """Take the settings of `project_texts`, and the width of a stored vector or 0."""
        if dimensions not in sketch.QUANTISED:
            raise ValueError(f"dimensions is {dimensions}, not 64, 128 or 256")
        if width not in (0, dimensions // 2):
            raise ValueError(f"width is {width}, not 0 or {dimensions // 2}")
        self._dimensions = dimensions
        self._width = width
        self._settings = {
            "unit": unit, "shingle": shingle, "lowercase": lowercase, "seed": seed,
            "counting": counting, "vocabulary": vocabulary, "idf": idf,
            "dimensions": max(dimensions, 128),
        }  # fmt: skip
        sketch.project_texts([], replace=False, start=0, **self._settings)  # type: ignore[arg-type]

    def sketch(
        self, text: str | bytes, replace: bool, start: int, is_query: bool
    ) -> tuple[U64, U8, U8 | None, int]:
        """Return bits uint64[1], vectors uint8[1, width], levels or None, number of features."""
        weights, features = self._project(text, replace, start)
        bits, vectors = sketch.quantise(weights)
        found = levels(weights) if is_query else None
        return bits, vectors[:, : self._width], found, int(features[0])

    def weigh(self, text: str | bytes, replace: bool, start: int) -> tuple[int, F32]:
        """Return bits, an int, and weights float32[dimensions] of one text."""
        weights = self._project(text, replace, start)[0].astype(np.float32)
        return int(sketch.quantise(weights)[0][0]), weights[0]

    def _project(
        self, text: str | bytes, replace: bool, start: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        weights, features = sketch.project_texts(
            [text], replace=replace, start=start, **self._settings  # type: ignore[arg-type]
        )  # fmt: skip
        chosen: npt.NDArray[Any] = np.ascontiguousarray(weights[:, : self._dimensions])
        return chosen, features


class TextSigner:
    """Makes the packed MinHash signature of one text after the other."""

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
    ) -> None:
        """Take the settings of `sign_texts`, and the bits of a stored minimum, 8 or 32."""
        if stored_bits not in (8, 32):
            raise ValueError(f"stored_bits is {stored_bits}, not 8 or 32")
        check_family(family, feature_bits)
        self._family = family
        self._is_narrow = stored_bits == 8
        self._settings = {
            "unit": unit, "shingle": shingle, "lowercase": lowercase, "seed": seed,
            "vocabulary": vocabulary, "family": family, "feature_bits": feature_bits,
        }  # fmt: skip
        sketch.sign_texts([], replace=False, start=0, **self._settings)  # type: ignore[arg-type]

    def sign(self, text: str | bytes, replace: bool, start: int) -> tuple[U64, U8, int]:
        """Return bits uint64[1], packed signature uint8[1, width] and the number of features."""
        minima, features = sketch.sign_texts(
            [text], replace=replace, start=start, **self._settings  # type: ignore[arg-type]
        )  # fmt: skip
        stored = narrowed(minima, self._family) if self._is_narrow else minima
        bits = band_keys(stored, bands=1, rows=stored.shape[1])[:, 0]
        return bits, pack_minima(stored), int(features[0])


def keys_of_one(packed: U8, *, stored_bits: int, bands: int, rows: int) -> U64:
    """Return the keys uint64[bands] of the bands of one packed signature uint8[1, width]."""
    keys = band_keys(unpack_minima(packed, stored_bits), bands=bands, rows=rows)
    return np.asarray(keys[0], np.uint64)
