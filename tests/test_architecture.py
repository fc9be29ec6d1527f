"""The imports follow the map of docs/ARCHITECTURE.md."""

import ast
from functools import cache
from pathlib import Path

from source_trees import FUNCTIONS, PACKAGE, name_of, nodes_of

from simdb.core.options import AUTO, METHODS, MINHASH_METHODS

# A module imports only from layers below its own, or from modules before it in its own row.
LAYERS = [
    ["ground"],
    ["running"],
    ["columns"],
    ["settings"],
    ["values"],
    ["results"],
    ["sketch", "index", "plan", "storage"],
    ["tuning"],
    ["engine"],
    ["functions", "database"],
    ["sharding"],
    ["outputs", "sources"],
    ["report"],
    ["deduplication"],
    ["decontamination"],
    ["integrations"],
    ["distributed"],
    ["spark"],
    ["compat"],
    ["cli.output"],
    ["cli.options"],
    ["cli.duplicates"],
    ["cli"],
]  # fmt: skip
# The order of modules inside a folder.
FOLDERS = {
    "ground": [
        "cold", "dtypes", "errors", "foreign", "choices", "checks",
        "previews", "bits", "fields",
    ],
    "running": [
        "memory", "threads", "progress", "kernel",
    ],
    "columns": [
        "arrow", "encoding_guess", "decoding", "vector_form", "field_columns",
    ],
    "settings": [
        "search", "keeping", "text_sketch", "options", "stored_options",
    ],
    "values": [
        "arrays", "documents",
    ],
    "results": [
        "skipped", "matches", "clusters", "reports",
    ],
    "sketch": [
        "document_kind", "projection", "unicode_table", "normalisation", "cutting",
        "weighing", "markup", "packages", "pipeline", "minhash_sketcher", "winnowing",
        "containment", "quantisation", "sketcher", "fitting", "exact_similarity",
        "exact_pairs",
    ],
    "index": [
        "permutation", "vosh", "bands",
    ],
    "plan": [
        "volatility", "recall", "cost", "chance", "calibration",
        "problem", "pigeonhole", "tables",
        "probing", "polytopes", "rotation", "bands", "nearest", "arrangement", "planner",
        "compaction",
    ],
    "storage": [
        "codec", "layout", "translation", "files.plain", "files.locks",
        "files.location", "files.pages", "files.new_directory", "files.idf_file",
        "files.shards_file", "files.open_files", "environment.gate", "environment.subdatabases",
        "environment.file_map", "environment.environment", "environment.registry",
        "records.delta", "records.manifest", "records.tombstones", "runs.source",
        "records.metadata", "runs.table", "runs.sorting", "runs.run", "runs.columns",
        "runs.merge", "runs.sums", "runs.rewriting", "runs.merging", "records.features", "passages",
        "transfer", "membership", "contents", "remains", "salvage", "check",
    ],
    "distributed": [
        "exchange", "forest", "plan",
    ],
    "spark": [
        "frames", "packing", "sketching", "finding", "pairing", "clustering", "dropping", "storing",
    ],
    "tuning": [
        "sample",
        "judged", "choice", "tune",
    ],
    "engine": [
        "state.signature_vectors",
        "state.view", "state.polytope_tables",
        "state.signature_kind", "state.kinds",

        "state.staged",
        "state.glimpse", "state.state", "state.store", "state.opening",
        "state.documents", "state.incoming", "state.unreadable",
        "search.question", "search.rows", "search.filters", "search.couples", "search.judge",
        "search.buckets",
        "search.method",
        "search.methods.exhaustive", "search.methods.permuted", "search.methods.probing",
        "search.methods.polytopes", "search.methods.bands",

        "search.lookup", "search.pairs", "search.many", "search.one", "search.nearest",
        "search.planning",
        "passages.queries", "passages.pairs",
        "clusters.labels", "clusters.order", "clusters.find",
        "clusters.links", "clusters.maintain",
        "clusters.arrays",
        "write.idf", "write.staging", "write.writer",
        "write.passages",
        "write.commit",
        "write.conflicts", "write.undecided",
        "write.write_state", "write.claim", "write.storing",
        "explain.fingerprints", "explain.signatures", "explain.stored",
        "maintenance.calibration",
        "maintenance.compaction", "maintenance.inspection",

        "maintenance.advice",
        "maintenance.rebuild", "maintenance.rescue", "maintenance.dump",
        "maintenance.merge",
        "reading", "writing", "snapshot", "transaction", "stored",
    ],
    "sharding": [
        "shard", "writing", "shards", "searching", "sharded_database",
    ],
    "outputs": [
        "rows", "pieces", "formats", "places", "target", "row_files", "table_file", "survivors",
    ],
    "sources": [
        "content", "origins", "records", "kinds", "batch",
        "json_lines", "record_files", "table_records", "reading",
        "read_again",
    ],
    "deduplication": [
        "minima", "stars", "question", "measures", "texts", "rows", "reference",
        "result", "alike", "by_cosine", "newcomers", "within", "run", "files",
        "references", "repeat", "arrivals", "claims", "sieve", "dropping", "deduplicate",
    ],
    "decontamination": [
        "items", "result", "search", "decontaminate",
    ],
    "integrations": ["crawl", "scrapy"],
    "compat": [
        "simhash", "programs", "minwise", "row_form", "rows", "sessions", "datasketch",
        "unpickler", "importing",
    ],
    "report": [
        "facts", "excerpts", "gather", "template", "page", "text_pairs",
    ],
    "cli": None,
}  # fmt: skip
IMPORTERS = {
    "lmdb": ["storage"],
    "msgpack": ["storage"],
    "xxhash": ["storage"],
    "snowballstemmer": ["sketch"],
    "stop_words": ["sketch"],
    "selectolax": ["sketch"],
    "simdb_ext": ["running"],
    "rich": ["cli"],
    "pyarrow": ["columns"],
    "zstandard": ["outputs"],
    "fsspec": ["outputs"],
    "charset_normalizer": ["sources"],
    "pyspark": ["spark"],
    "jinja2": ["report"],
    "matplotlib": [],
    "pandas": [],
    "polars": [],
    "datasets": [],
    "scrapy": ["integrations"],
    "twisted": ["integrations"],
    "itemadapter": ["integrations"],
}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")
)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


@cache
def imported(path: Path) -> list[str]:
    """Return the names that a module imports, and the modules of cold folders that it names."""
    names = []
    folders = {}
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import in line {node.lineno}"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if own(name) and PACKAGE.joinpath(*own(name).split(".")).is_dir():
                    folders[alias.asname or alias.name] = name
                else:
                    names.append(name)
    for local, name in folders.items():
        used = [f"{name}.{attribute}" for attribute in attributes_of(path, local)]
        names += [each for each in used if own(each) != own(name)] or [name]
    return names


def attributes_of(path: Path, local: str) -> set[str]:
    """Return the names that follow `local` and a dot."""
    return {
        node.attr
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == local
    }


@cache
def own(name: str) -> str:
    """Return the module of simdb that an imported name lies in; "" for other packages."""
    parts = name.split(".")
    if parts[0] != "simdb":
        return ""
    for length in range(len(parts), 1, -1):
        path = PACKAGE.joinpath(*parts[1:length])
        if path.with_suffix(".py").exists() or path.is_dir():
            return ".".join(parts[1:length])
    return ""


def place(module: str) -> tuple[int, int]:
    """Return the layer of a module, and its position in the row of that layer."""
    for layer, row in enumerate(LAYERS):
        for position, entry in enumerate(row):
            if module == entry or module.startswith(entry + "."):
                return layer, position
    raise AssertionError(f"add {module} to LAYERS in {__file__}")


def last_position(order: list[str], name: str) -> int:
    """Return the position of a module in the order of its folder.

    For a folder, return the position of its last module: a module that imports a folder may load
    any module in it (`simdb.core.cold`).
    """
    inside = [each for each in order if each == name or each.startswith(name + ".")]
    return order.index(inside[-1])


def test_modules_import_only_from_below():
    wrong = [each for path in MODULES for each in wrong_imports(path)]

    assert wrong == []


def wrong_imports(path):
    """Yield a message for each import of a module from above, or from a neighbour after it."""
    module = module_of(path)
    layer, position = place(module)
    folder = module.partition(".")[0] if "." in module else ""
    order = FOLDERS.get(folder)
    if order is not None and module.partition(".")[2] not in order:
        yield f"add {module} to FOLDERS in {__file__}"
        return
    for target in filter(None, map(own, imported(path))):
        if target == folder:
            continue
        target_layer, target_position = place(target)
        if target_layer > layer:
            yield f"{module} imports {target} from above"
        elif target_layer < layer:
            continue
        elif not folder or not target.startswith(folder + "."):
            if target_position >= position:
                yield f"{module} imports its neighbour {target}"
        elif order is not None:
            last = last_position(order, target.partition(".")[2])
            if last >= order.index(module.partition(".")[2]):
                yield f"{module} imports {target}, which comes after it"


def test_each_library_is_imported_in_one_folder():
    wrong = [
        f"{module_of(path)} imports {library}"
        for path in MODULES
        for library in {name.partition(".")[0] for name in imported(path)} & set(IMPORTERS)
        if module_of(path).partition(".")[0] not in IMPORTERS[library]
    ]

    assert wrong == []


def test_no_import_stands_inside_a_function():
    inside = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        for function in nodes_of(path)
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert inside == []


# What differs between fingerprints and signatures, and between methods, is asked of an interface:
# `Kind` (engine/state/view.py), `Way` (plan/problem.py) and `Method` (engine/search/method.py).
KINDS = {
    "BandedPopulation", "Bands", "FingerprintKind", "MinHashSketcher", "Minhash", "Permutations",
    "Population", "SignatureKind", "Simhash", "Sketcher",
}  # fmt: skip
METHOD_NAMES = {*METHODS, *MINHASH_METHODS} - {AUTO}
CHOOSING = [path for path in MODULES if module_of(path).partition(".")[0] in ("engine", "plan")]


def test_the_engine_and_the_planner_ask_no_object_for_its_class():
    asked = [
        f"{name_of(path)}:{call.lineno}: {name.id}"
        for path in CHOOSING
        for call in nodes_of(path)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "isinstance"
        for name in ast.walk(call.args[1])
        if isinstance(name, ast.Name) and name.id in KINDS
    ]

    assert asked == []


def test_the_engine_and_the_planner_compare_no_names_of_methods():
    named = [
        f"{name_of(path)}:{node.lineno}: {node.value}"
        for path in CHOOSING
        for node in nodes_of(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in METHOD_NAMES
    ]

    assert named == []
