"""Sizes: the constants that decide which code runs, with tiny values for databases under test.

Most constants are far larger than a database that can be compared with double loops.  `shrunk`
replaces some of them by tiny values, so that every part, group and merge of many occurs.  Constants
that are options are not here.  docs/SIZES.md says what crosses each constant.
"""

import importlib
import pkgutil
import sys
from contextlib import contextmanager

FOLDERS = ("database", "plan", "sketch", "storage")
# Module without "simdb.", and its constants with tiny values.
TINY = {
    "database.reading": {"ITERATED_IDS": 3, "ITERATED_DOCUMENTS": 2},
    "database.clusters.maintain": {"SWEPT_LEAST": 3, "WHOLE_MAX": 2},
    "database.clusters.links": {
        "COMPARED_MAX": 2, "REMOVED_MAX": 1, "COMPARED_NEIGHBOURS_MAX": 1, "GROUPS_MAX": 2,
        "FOUND_MAX": 4, "QUERIES_AT_ONCE": 1, "ROUND_MEMBERS": 2,
    },
    "database.clusters.find": {
        "BATCH_FIRST": 2, "BATCH_DOCUMENTS": 3, "COMPARED_MAX": 2, "COMPARED_PAIRS": 3,
    },
    "database.maintenance.calibration": {"PAIRS_MAX": 5, "PART_QUERIES": 2},
    "database.maintenance.compaction": {"METADATA_GROUP": 2},
    "database.maintenance.dump": {"COMMIT_DOCUMENTS": 7, "GROUP_DOCUMENTS": 3, "IDF_BYTES": 10},
    "database.search.contained": {
        "FOUND_TOGETHER": 7, "COMPARED_TOGETHER": 3, "MEASURED_TOGETHER": 2, "READ_TOGETHER": 2,
        "COMMON_LEAST": 2, "COVERED": 9,
    },
    "database.search.couples": {
        "CHUNK_PAIRS": 128, "SWEPT_ROWS": 4, "LOOKUP_QUERIES": 3, "LOOKUP_QUERIES_FIRST": 2,
        "LOOKUP_PARTS": 2,
    },
    "database.search.buckets": {
        "CROWD_MIN": 3, "CROWD_ROOTS": 1, "COUNTED_PAIRS": 2, "LABELLED_AT_ONCE": 3,
    },
    "database.search.lookup": {"PART_QUERIES": 3, "PART_MEASURED": 2},
    "database.search.many": {"LEAST_ENTRIES": 1, "LEAST_QUERIES": 1},
    "database.search.nearest": {"FOUND_TOGETHER": 8},
    "database.search.rows": {"MANY": 2, "SORTED_LEAST": 2},
    "database.search.filters": {"FOUND_TOGETHER": 2, "READ_TOGETHER": 3},
    "database.state.glimpse": {"PART": 3},
    "database.state.signature_kind": {"SORTING_QUERIES": 2, "TRIED": 2, "COMPARED_BYTES": 300},
    "database.state.kinds": {
        "CROWD_SAMPLE": 4, "GATHERED_BYTES": 60, "GATHERED_AT_ONCE": 1, "REPLACED_KEYS": 3,
    },
    "database.state.incoming": {"SKETCHED_DOCUMENTS": 3, "SKETCHED_READY": 3},
    "database.state.view": {"FEW": 1, "PLANS_MAX": 1, "ASKED_LEAST": 4, "MADE_BYTES": 4800},
    "database.write.commit": {"MERGED_MOST": 60, "AHEAD_ENTRIES": 90, "WAITING_BYTES": 500},
    "database.write.claim": {
        "GROUP_FIRST": 2, "GROUP_DOCUMENTS": 4, "LOOKED_UP": 3, "LOOKED_UP_LEAST": 2,
        "PLANNED_GROWTH": 1, "MATCHES_ENOUGH": 3, "JUDGED_FIRST": 1, "MATCHES_FIRST": 3,
        "COMPARED_FIRST": 2, "COMPARED_MOST": 2, "GROWTH": 1,
    },
    "plan.banding": {"KEYED_SIGNATURES": 3},
    "database.search.methods.permuted": {"PART_ENTRIES": 3},
    "plan.compaction": {
        "AT_ONCE_DELTAS": 1, "PACE": 2, "LENGTH_MOST": 60, "BULK_MOST": 70, "BULK_COMMITS": 2,
        "COMPACTED_MOST": 80, "STAGED_MOST": 6,
        "AHEAD_LEAST": 12,
    },
    "sketch.fitting": {"BATCH_DOCUMENTS": 3, "SORTED_FEATURES": 8},
    "sketch.minhash_sketcher": {"COUNTED_DOCUMENTS": 2, "SIGNED_DOCUMENTS": 3},
    "sketch.sketcher": {"PART_DOCUMENTS": 3},
    "storage.codec": {"SMALL_BYTES": 4096},  # smaller values of LMDB are not aligned
    "storage.layout": {"SEGMENT_ORDINALS": 16},
    "storage.membership": {"SPARE_CHUNKS": 1},
    "storage.passages": {"WINDOW_ENTRIES": 16, "BLOCK_ENTRIES": 30},
    "storage.delta": {"FEW_DOCUMENTS": 2, "LEAST_CAPACITY": 1},
    "storage.metadata": {"BLOCK_DOCUMENTS": 2, "BLOCK_BYTES": 30, "CHECKED_TOGETHER": 2},
    "storage.run": {"FEW": 1},
    "storage.merge": {
        "COPIED_BYTES": 99, "RANGE_ENTRIES": 4, "WINDOW_ENTRIES": 5,
        "WINDOW_BYTES": 200,
    },
    "storage.rewriting": {
        "THREADED_DOCUMENTS": 4, "WINDOW_ENTRIES": 3, "THREADED_MOST": 10,
        "KEYED_DOCUMENTS": 3, "KEYED_LEAST": 2, "HASHED_DOCUMENTS": 3,
    },
    "storage.table": {
        "POLYTOPE_ENTRIES": (4, 9, 20), "BINNED_ENTRIES": 2, "BIN_ENTRIES": 3, "SAMPLED_KEYS":
        4,
    },
    "storage.transfer": {"BATCH_BYTES": 500, "PART_BYTES": 50},
    "core.threads": {"LEAST": 2, "BEGUN": 1},
}  # fmt: skip
# Databases have all, none or some of them: a tiny constant can hide what another one decides.
SHARES = (0.0, 0.0, 0.2, 0.5, 1.0)


@contextmanager
def shrunk(chance, share):
    """Make the constants of this share of the modules tiny, drawn by `chance`; yield names."""
    names, before = [], []
    load_all()
    # Constants of one module stay together: some must be larger than others.
    for module_name in [each for each in TINY if chance.random() < share]:
        owner = importlib.import_module(f"simdb.{module_name}")
        for name, tiny in TINY[module_name].items():
            names.append(f"{module_name}.{name}")
            for module in users_of(owner, name):
                before.append((module, name, getattr(module, name)))
                setattr(module, name, tiny)
    try:
        yield names
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def load_all():
    """Import all modules that may use the constants: later they would keep a tiny value."""
    for folder in FOLDERS:
        package = importlib.import_module(f"simdb.{folder}")
        for found in pkgutil.walk_packages(package.__path__, f"simdb.{folder}."):
            importlib.import_module(found.name)


def users_of(owner, name):
    """Return the module of a constant and the modules that have imported it by name."""
    value = getattr(owner, name)
    others = [
        module
        for path, module in sys.modules.items()
        if path.startswith("simdb.") and vars(module).get(name) is value and module is not owner
    ]
    return [owner, *others]
