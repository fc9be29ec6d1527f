"""Kernel: the only import of the compiled kernel.

`simdb_ext/_arrange.pyi`, `_search.pyi` and `_sketch.pyi` describe every name of this module.  The
environment variable SIMDB_KERNEL chooses one of `variants()`; "scalar" runs on every processor.
"""

import os

from simdb.core.errors import OptionError

# All variants, slowest first.  A module without a variant uses the nearest slower one.
ORDER = ("scalar", "neon", "avx2", "avx512")
ID_KEY_BYTES = 16
# Set in the hash of a marked word if it is a single character of a script without spaces; see
# `simdb_ext/sketch/text/marks.h`.
SINGLE = 2
CHOSEN = os.environ.get("SIMDB_KERNEL", "")

try:
    from simdb_ext import _arrange, _search, _sketch
    from simdb_ext._arrange import (
        Forest, Identifiers, PackedIds, bytes_at, candidates, count_bins, count_lines, deal,
        decode_ids, describe_ids, directory, encode_ids, entry_sum, find_in_rows, first_bytes,
        first_descent, gather, hash_ids, join_rows, keep, merge, pack_ids, permute, read_ranges,
        restore, row_at, row_ids, scan_objects, sort, sort_bins, tags, to_bins, values_at,
    )  # fmt: skip
    from simdb_ext._search import (
        FlipSets, Polytopes, Tables, Vectors, firm_signs, flip_set_children, levels,
        levels_of_vectors, lookup_bands, polytope_costs, polytope_headers, polytope_keys,
        polytope_probe, polytope_reaches, sweep,
    )  # fmt: skip
    from simdb_ext._sketch import (
        STRAYS, TURKIC, Ngrams, Postings, TextFingerprinter, TextSigner, Vocabulary, agreements,
        align, are_utf8, band_keys, cleaned, count_texts, count_tokens, hash_parts, hash_words,
        is_utf8, judge_leaks, keys_of_one, ngrams, overlaps, part_bounds, part_keys, part_rest,
        project_and_sign_texts, project_features, project_moz, project_texts, project_tokens,
        quantise, quantise_one, sign_features, sign_texts, sign_tokens, sign_weighted,
        without_markup, word_places,
    )  # fmt: skip
except ImportError as error:
    # Python searches the working folder first, so a checkout there hides an installation.
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


def new_id_key() -> bytes:
    """Return a random key for `encode_ids`; without it, nobody can make ids with equal hashes."""
    return os.urandom(ID_KEY_BYTES)


def variants() -> list[str]:
    """Return the kernel variants that this processor can run, slowest first."""
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
