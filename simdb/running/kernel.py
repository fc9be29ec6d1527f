"""Kernel: the only import of the compiled kernel.

`simdb_ext/_arrange.pyi`, `_search.pyi` and `_sketch.pyi` describe every name of this module.  The
environment variable SIMDB_KERNEL chooses one of `variants()`; "scalar" runs on every processor.
"""

import os

from simdb.ground.errors import OptionError

# All variants, slowest first.  A module without one of them uses the nearest one before it.
ORDER = ("scalar", "neon", "avx2", "avx512")
CHOSEN = os.environ.get("SIMDB_KERNEL", "")

try:
    from simdb_ext import _arrange, _search, _sketch
except ImportError as error:
    # Python looks into the working folder first, so a checkout there hides an installation.
    _folder = os.path.dirname(os.path.abspath(__file__))
    _root = os.path.dirname(os.path.dirname(_folder))
    raise ImportError(
        f"the compiled kernel of simdb cannot be loaded ({error}): "
        + (
            f"simdb was imported from its source folder {_root}, so build the kernel there with"
            f" pip install -e {_root}, or, if simdb is installed, start Python in another folder"
            if os.path.exists(os.path.join(_root, "setup.py"))
            else "install simdb again with this Python"
        )
    ) from error

Forest = _arrange.Forest
Identifiers = _arrange.Identifiers
count_bins = _arrange.count_bins
decode_ids = _arrange.decode_ids
directory = _arrange.directory
encode_ids = _arrange.encode_ids
entry_sum = _arrange.entry_sum
first_bytes = _arrange.first_bytes
first_descent = _arrange.first_descent
hash_ids = _arrange.hash_ids
keep = _arrange.keep
merge = _arrange.merge
object_sizes = _arrange.object_sizes
permute = _arrange.permute
read_ranges = _arrange.read_ranges
restore = _arrange.restore
sort = _arrange.sort
sort_bins = _arrange.sort_bins
to_bins = _arrange.to_bins

FlipSets = _search.FlipSets
Polytopes = _search.Polytopes
Tables = _search.Tables
Vectors = _search.Vectors
firm_signs = _search.firm_signs
flip_set_children = _search.flip_set_children
levels = _search.levels
levels_of_vectors = _search.levels_of_vectors
lookup_bands = _search.lookup_bands
polytope_costs = _search.polytope_costs
polytope_headers = _search.polytope_headers
polytope_keys = _search.polytope_keys
polytope_probe = _search.polytope_probe
polytope_reaches = _search.polytope_reaches
sweep = _search.sweep

TextFingerprinter = _sketch.TextFingerprinter
Ngrams = _sketch.Ngrams
TextSigner = _sketch.TextSigner
Vocabulary = _sketch.Vocabulary
project_and_sign_texts = _sketch.project_and_sign_texts
agreements = _sketch.agreements
align = _sketch.align
band_keys = _sketch.band_keys
cleaned = _sketch.cleaned
hash_parts = _sketch.hash_parts
hash_words = _sketch.hash_words
keys_of_one = _sketch.keys_of_one
count_texts = _sketch.count_texts
count_tokens = _sketch.count_tokens
is_utf8 = _sketch.is_utf8
ngrams = _sketch.ngrams
overlaps = _sketch.overlaps
project_moz = _sketch.project_moz
part_bounds = _sketch.part_bounds
part_keys = _sketch.part_keys
part_rest = _sketch.part_rest
project_features = _sketch.project_features
project_texts = _sketch.project_texts
project_tokens = _sketch.project_tokens
quantise = _sketch.quantise
quantise_one = _sketch.quantise_one
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
        gone = "; numpy is gone, and scalar runs everywhere" if variant == "numpy" else ""
        raise OptionError(
            f"the variant of the kernel (SIMDB_KERNEL) must be one of {', '.join(variants())},"
            f" got {variant!r}{gone}"
        )
    for module in (_arrange, _search, _sketch):
        usable = [name for name in module.variants() if ORDER.index(name) <= ORDER.index(variant)]
        if usable:
            module.select(usable[-1])


if CHOSEN:
    select(CHOSEN)
