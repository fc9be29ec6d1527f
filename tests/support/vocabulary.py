"""Vocabulary: lists the verbs with their arguments, and the entry points that have them.

A verb has the same arguments at every entry point, in the same order.  Omitted and additional
arguments of an entry point are listed with the reason.  `make test` compares the classes, the
commands and the functions of Spark with this table, and names missing or unused arguments.
"""

CRITERION = ("similarity", "distance", "recall", "search")
TEXTS = ("verify", "texts")
CONTAINMENT = ("contained", "texts")
DECODING = ("encoding", "errors")

READING: dict[str, tuple[str, ...]] = {
    "query": (
        "document", "id", *CRITERION, "limit", "where", "accept", *DECODING, *CONTAINMENT,
        "threads",
    ),
    "first": ("document", "id", *CRITERION, "where", "accept", "errors", *CONTAINMENT),
    "query_many": (
        "documents", "ids", *CRITERION, "limit", "match", "where", "accept", *DECODING,
        "on_error", "threads", *CONTAINMENT,
    ),
    "nearest": ("document", "k", "id", "recall", "where", "vectors", "texts", "errors", "threads"),
    "nearest_many": (
        "documents", "k", "ids", "recall", "where", "vectors", "texts", "errors", "on_error",
        "threads",
    ),
    "draw_ids": ("count", "seed", "weighted"),
    "explain": ("id", "other_id", "document", "other_document", *CRITERION, "errors"),
    "plan": ("n", *CRITERION, "pairs"),
    "find_all": (*CRITERION, "where", *TEXTS, "threads", "contained"),
    "find_clusters": (*CRITERION, "policy", "keep", "where", *TEXTS, "threads"),
    "cluster": ("id",),
    "compare": ("left", "right", *TEXTS, "threads"),
    "get": ("id", "default"),
    "get_many": ("ids",),
    "keys": (),
    "items": (),
    "sketches": ("ids",),
    "contains_many": ("ids",),
    "bits_many": ("ids",),
    "times_many": ("ids",),
    "texts_many": ("ids",),
    "note": ("name",),
}  # fmt: skip
WRITING: dict[str, tuple[str, ...]] = {
    "insert": ("id", "document", "metadata", "on_conflict", *DECODING),
    "insert_many": (
        "ids", "documents", "metadata", "on_conflict", *DECODING, "on_error", "progress", "threads",
    ),
    "add_if_new": ("id", "document", "metadata", *CRITERION, "where", "on_conflict", *DECODING),
    "add_many_if_new": (
        "ids", "documents", "metadata", *CRITERION, "where", "on_conflict", *DECODING, "on_error",
        "rule", *TEXTS, "progress", "threads",
    ),
    "insert_batch": (
        "ids", "documents", "metadata", "match", *CRITERION, *DECODING, "on_error", "progress",
        "threads",
    ),
    "update_metadata": ("id", "metadata"),
    "delete": ("id",),
    "delete_many": ("ids", "where"),
    "delete_where": ("where",),
    "expire": ("before", "older_than", "where"),
}  # fmt: skip
CARE: dict[str, tuple[str, ...]] = {
    "fit_idf": ("documents", "features_max", "errors", "progress"),
    "set_idf": ("table",),
    "stats": (),
    "check": ("deep",),
    "advice": (),
    "header_fill": (),
    "calibrate": ("sample", "noise", "seed", "errors"),
    "compact": ("threads",),
    "copy": ("path", "incremental"),
    "rebuild": ("drop_damaged", "polytopes", "threads"),
    "merge": ("other", "on_conflict", "progress", "threads"),
    "dump": ("target", "progress"),
    "read": (),
    "write": (),
    "close": (),
}
OF_TRANSACTIONS: dict[str, tuple[str, ...]] = {
    "set_note": ("name", "content"),
    "commit": (),
    "abort": (),
}
DEDUPLICATE = (
    "data", "text", "id", "keep", "similarity", "distance", "recall", "rule", "lose", "verify",
    "policy", "against", "db", "run", "unit", "sketch", "on_null", "max_share",
    *DECODING, "on_error", "threads", "progress",
)  # fmt: skip
VERBS = READING | WRITING | CARE | OF_TRANSACTIONS | {"deduplicate": DEDUPLICATE}

# The verbs of each class.
NOUNS: dict[str, tuple[str, ...]] = {
    "Database": (*READING, *WRITING, *CARE),
    "Snapshot": (*READING, "close"),
    "WriteTransaction": (*READING, *WRITING, *OF_TRANSACTIONS),
    "ShardedDatabase": (*READING, "stats", "check", "advice", "close"),
}
# The option for each argument on the command line, or why no command has one.
OPTIONS: dict[str, str] = {
    "against": "--against", "contained": "--contained", "data": "SOURCE...", "db": "--db",
    "deep": "--deep",
    "distance": "--distance",
    "document": "TEXT", "documents": "SOURCE...", "drop_damaged": "--drop-damaged",
    "encoding": "--encoding",
    "errors": "--errors", "id": "--id-field", "ids": "ID...", "incremental": "--incremental",
    "k": "--nearest", "keep": "--keep",
    "limit": "--limit", "lose": "--lose", "match": "--match", "max_share": "--max-share",
    "metadata": "--metadata",
    "n": "--documents", "on_null": "--on-null", "on_conflict": "--on-conflict",
    "on_error": "--on-error", "other": "FROM...",
    "pairs": "--pairs", "path": "TARGET",
    "policy": "--policy", "polytopes": "--polytopes", "recall": "--recall", "rule": "--rule",
    "run": "--run",
    "sample": "--sample",
    "search": "--search", "seed": "--seed", "similarity": "--similarity", "target": "--output",
    "text": "--text-field", "texts": "--texts", "unit": "--unit", "verify": "--verify",
    "where": "--where",
}  # fmt: skip
NOT_IN_COMMANDS: dict[str, str] = {
    "accept": "a function, which only programs have",
    "progress": "drawn on a terminal",
    "sketch": "its options are options of the command",
    "threads": "SIMDB_THREADS says it for all commands",
}
# The verb of each command, and the arguments that it gives differently or omits, with the reason.
COMMANDS: dict[str, tuple[str, dict[str, str]]] = {
    "dedup": ("deduplicate", {}),
    "query": ("query", {"id": "--id"}),
    "lookup": ("query_many", {
        "ids": "documents of sources are looked up, not stored ones",
        "match": "all of them with --all, otherwise the best",
        "contained": "query and pairs have it", "texts": "shown, not measured",
    }),
    "pairs": ("find_all", {}),
    "clusters": ("find_clusters", {}),
    "cluster": ("cluster", {"id": "ID"}),
    "explain": ("explain", {
        "id": "A", "other_id": "B", "document": "--document", "other_document": "B, a file",
    }),
    "plan": ("plan", {}),
    "insert": ("insert_many", {"ids": "--id-field"}),
    "get": ("get_many", {}),
    "delete": ("delete_many", {}),
    "calibrate": ("calibrate", {"noise": "--noise"}),
    "check": ("check", {}),
    "stats": ("stats", {}),
    "doctor": ("advice", {}),
    "compact": ("compact", {}),
    "copy": ("copy", {}),
    "rebuild": ("rebuild", {}),
    "merge": ("merge", {}),
    "dump": ("dump", {}),
}  # fmt: skip

# The verb of each function of `simdb.spark`, the arguments that it omits, and why.
BY_PLAN = "a plan chooses how pairs are found in parts"
BY_ROWS = "filter the rows"
NO_DATABASE = "passages are stored in a database"
OF_SPARK = {"threads": "a task has one", "progress": "Spark shows its own"}
SPARK: dict[str, tuple[str, dict[str, str]]] = {
    "pairs": ("find_all", {"search": BY_PLAN, "where": BY_ROWS, "contained": NO_DATABASE}),
    "clusters": ("find_clusters", {"search": BY_PLAN, "where": BY_ROWS}),
    "drop_duplicates": ("deduplicate", {
        "data": "df", "against": "a reference need not be spread over a cluster",
        "db": "one job sees all rows", "run": "there is no database",
        "unit": "documents are whole",
        "encoding": "Spark has only valid text", "errors": "Spark has only valid text",
    }),
    "query": ("query_many", {
        "documents": "df", "ids": "the ids of df are a column", "match": "limit=1",
        "accept": "filter the result", "encoding": "Spark has only valid text",
        "errors": "Spark has only valid text",
        "contained": NO_DATABASE, "texts": NO_DATABASE,
    }),
    "plan": ("plan", {"n": "documents", "search": BY_PLAN, "pairs": "only pairs are planned"}),
}  # fmt: skip
