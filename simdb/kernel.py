"""Kernel: the only import of the compiled kernel, or of its numpy version if it is not built.

`simdb_ext/_arrange.pyi`, `_search.pyi` and `_sketch.pyi` describe every name of this module.  The
environment variable SIMDB_KERNEL chooses a variant: "numpy" or one of `variants()`.
"""

import os
import sys
import warnings

from simdb.errors import OptionError

CHOSEN = os.environ.get("SIMDB_KERNEL", "")
# All variants, slowest first.  A module without one of them uses the nearest one before it.
ORDER = ("numpy", "scalar", "neon", "bmi2", "avx2", "avx512", "avx512vnni")

try:
    if CHOSEN == "numpy":
        raise ImportError("SIMDB_KERNEL=numpy")
    from simdb_ext import _arrange, _search, _sketch

    _single = _sketch
except ImportError as error:
    IS_COMPILED = False
    if CHOSEN != "numpy":
        from simdb.kernel_absence import why_missing

        # Before the imports that follow: where simdb is not installed, they can fail, too.
        warnings.warn(
            "simdb's compiled kernel is missing, so numpy does its work, many times slower: "
            + why_missing(error, os.path.dirname(os.path.dirname(__file__)), sys.path),
            RuntimeWarning,
            stacklevel=2,
        )
    from simdb.numpy_kernel import arrange as _arrange  # type: ignore[no-redef]
    from simdb.numpy_kernel import search as _search  # type: ignore[no-redef]
    from simdb.numpy_kernel import single as _single  # type: ignore[no-redef]
    from simdb.numpy_kernel import sketch as _sketch  # type: ignore[no-redef]
else:
    IS_COMPILED = True

Forest = _arrange.Forest
Identifiers = _arrange.Identifiers
decode_ids = _arrange.decode_ids
directory = _arrange.directory
encode_ids = _arrange.encode_ids
entry_sum = _arrange.entry_sum
first_descent = _arrange.first_descent
keep = _arrange.keep
merge = _arrange.merge
permute = _arrange.permute
restore = _arrange.restore
sort = _arrange.sort

Polytopes = _search.Polytopes
Tables = _search.Tables
Vectors = _search.Vectors
levels = _search.levels
levels_of_vectors = _search.levels_of_vectors
lookup_bands = _search.lookup_bands
polytope_costs = _search.polytope_costs
polytope_headers = _search.polytope_headers
polytope_keys = _search.polytope_keys
polytope_probe = _search.polytope_probe
polytope_reaches = _search.polytope_reaches
sweep = _search.sweep

TextFingerprinter = _single.TextFingerprinter
TextSigner = _single.TextSigner
Vocabulary = _sketch.Vocabulary
agreements = _sketch.agreements
band_keys = _sketch.band_keys
keys_of_one = _single.keys_of_one
count_texts = _sketch.count_texts
count_tokens = _sketch.count_tokens
is_utf8 = _sketch.is_utf8
murmur = _sketch.murmur
overlaps = _sketch.overlaps
project_moz = _sketch.project_moz
project_features = _sketch.project_features
project_texts = _sketch.project_texts
project_tokens = _sketch.project_tokens
quantise = _sketch.quantise
sign_features = _sketch.sign_features
sign_texts = _sketch.sign_texts
sign_tokens = _sketch.sign_tokens
sign_weighted = _sketch.sign_weighted


def variants() -> list[str]:
    """Return the variants that a kernel module can run on this processor, slowest first."""
    names = {name for module in (_arrange, _search, _sketch) for name in module.variants()}
    return sorted(names, key=ORDER.index)


def select(variant: str) -> None:
    """Use `variant` in all modules; in a module without it, the nearest slower variant."""
    if variant not in variants():
        raise OptionError(
            f"the variant of the kernel must be one of {', '.join(variants())}, got {variant!r}"
        )
    for module in (_arrange, _search, _sketch):
        usable = [name for name in module.variants() if ORDER.index(name) <= ORDER.index(variant)]
        if usable:
            module.select(usable[-1])


if CHOSEN not in ("", "numpy"):
    select(CHOSEN)
