"""Foreign words: what other packages, or earlier versions, call an argument, and our word for it.

A verb or a command that is given such a word, and has no argument of this name, answers with the
word to use; so does an object that is asked for a method that it has under another name.
"""

from collections.abc import Callable
from functools import wraps
from inspect import isfunction, unwrap
from typing import NamedTuple, NoReturn, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")
Made = TypeVar("Made")


class OwnWords(NamedTuple):
    """Our words for a foreign one: in Python, and on the command line; empty if there is none."""

    python: str
    command: str


SIMILARITY = OwnWords("similarity=", "--similarity")
DISTANCE = OwnWords("distance=", "--distance")
THREADS = OwnWords("threads=", "the environment variable SIMDB_THREADS")
TEXT = OwnWords("text=", "--text-field")
ID = OwnWords("id=", "--id-field")
SHINGLE = OwnWords("sketch=simdb.Simhash(shingle=...)", "--shingle")
PERMUTATIONS = OwnWords("sketch=simdb.Minhash(permutations=...)", "--permutations")
READ_ONLY = OwnWords(
    'mode "r", as in simdb.open(path, "r")',
    "nothing in its place: a command that only shows something opens the database to read",
)
HASH = OwnWords("documents that are simdb.Features of your hashes", "")
RESULT = OwnWords(".write(path) of the result", "> FILE: the result is on standard output")

# By the words in Python; the command line writes - for _.
OWN_WORDS = {
    "threshold": SIMILARITY, "min_similarity": SIMILARITY, "jaccard": SIMILARITY,
    "jaccard_threshold": SIMILARITY, "sim_threshold": SIMILARITY,
    "hamming": DISTANCE, "bit_diff": DISTANCE, "max_distance": DISTANCE,
    "threads": OwnWords("", THREADS.command), "workers": THREADS, "n_jobs": THREADS,
    "num_workers": THREADS, "num_proc": THREADS, "processes": THREADS, "jobs": THREADS,
    "column": TEXT, "text_column": TEXT, "text_field": TEXT, "field": TEXT,
    "id_column": ID, "id_field": ID, "index_column": ID,
    "ngram": SHINGLE, "ngrams": SHINGLE, "ngram_size": SHINGLE, "shingle_size": SHINGLE,
    "num_perm": PERMUTATIONS, "num_hashes": PERMUTATIONS,
    "hash": HASH, "hash_func": HASH, "hashfunc": HASH, "hash_function": HASH,
    "readonly": READ_ONLY, "read_only": READ_ONLY,
    "output": RESULT, "o": RESULT, "out": RESULT, "output_path": RESULT,
    "subset": TEXT, "n_results": OwnWords("limit=", "--limit"),
    "inplace": OwnWords(".data of the result; what was given stays as it is", "--in-place"),
    "shingle": OwnWords(SHINGLE.python, ""), "unit": OwnWords("sketch=simdb.Simhash(unit=...)", ""),
    "database": OwnWords("db=", "--db"), "database_path": OwnWords("db=", "--db"),
    "top_k": OwnWords("limit=", "--limit"), "k": OwnWords("limit=", "--limit"),
    "keep": OwnWords("", "--new FILE for what has no match, --found FILE for the rest"),
    # Words of earlier versions.
    "keep_by": OwnWords("keep=", "--keep RULE"),
    "memory_limit": OwnWords(
        "search=simdb.Search(memory_limit=...)", "--search memory_limit=SIZE"
    ),
    "method": OwnWords("search=", "--search METHOD"),
    "replace": OwnWords('on_conflict="replace"', "--on-conflict replace"),
    "representative": OwnWords('keep="min:FIELD"', "--keep min:FIELD"),
    "rotations": OwnWords(
        'search=simdb.Search(method="rotation", rotations=...)',
        "--search rotation,rotations=N",
    ),
}  # fmt: skip

# What `open` takes within options=, and not by itself.
OF_OPTIONS = (
    "similarity", "distance", "recall", "sketch", "blocks", "leading", "bands", "rows", "polytopes",
    "passages", "features", "keep_times", "keep_clusters",
)  # fmt: skip
SAVED = ".write(path), such as result.write('kept.csv')"
# What other packages call a method or an attribute, and ours, by kind of object.
OF_DATABASES = {
    "search": "query(document)", "find": "query(document)", "match": "query(document)",
    "similar": "query(document)", "knn": "nearest(document, k)",
    "add": "insert(id, document), or add_if_new(id, document)", "put": "insert(id, document)",
    "add_many": "insert_many(ids, documents)", "add_documents": "insert_many(ids, documents)",
    "upsert": "insert(id, document, on_conflict='replace')", "index": "insert(id, document)",
    "update": "insert(id, document, on_conflict='replace'), or update_metadata(id, metadata)",
    "remove": "delete(id)", "pop": "delete(id)", "count": "len(database)", "size": "stats()",
    "deduplicate": "simdb.deduplicate(data, db=database), or find_clusters()",
    "commit": "with database.write() as transaction; a verb alone commits by itself",
    "flush": "nothing: each verb commits", "save": "nothing: each verb commits, or copy(path)",
    "persist": "nothing: each verb commits", "values": "items()", "pairs": "find_all()",
    "clusters": "find_clusters()",
}  # fmt: skip
OF_RESULTS = {
    "to_csv": SAVED, "to_parquet": SAVED, "to_json": SAVED, "to_file": SAVED, "save": SAVED,
    "to_pandas": ".data, which is of the kind that was given; .removed.to_pandas() has the rest",
    "to_list": ".data", "to_arrow": ".data, or .removed, a table of Arrow",
    "duplicates": ".removed", "dropped": ".removed", "unique": ".data",
    "clusters": ".groups",
}  # fmt: skip
NO_TEXTS = "your own texts, by its id: a database stores none; or put them into the metadata"
OF_DOCUMENTS = {"text": NO_TEXTS, "document": NO_TEXTS, "content": NO_TEXTS, "bits": ".fingerprint"}

# What other programs call a command, and ours.
COMMANDS = {
    "expire": "delete DB --older-than 30d", "purge": "delete DB --older-than 30d",
    "add": "insert", "remove": "delete", "search": "query", "find": "query", "nearest": "query",
    "duplicates": "dedup", "compare": "explain", "diff": "explain", "vacuum": "compact",
    "backup": "copy", "export": "dump", "import": "load", "restore": "load", "info": "stats",
}  # fmt: skip


def own_word(word: str) -> OwnWords | None:
    """Return our words for a foreign argument or option; None if it is not known."""
    return OWN_WORDS.get(word.lstrip("-").replace("-", "_"))


def answering(verb: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make a verb name our argument in the TypeError for a foreign one that it does not have."""

    @wraps(verb)
    def answered(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return verb(*args, **kwargs)
        except TypeError as error:
            answer = _answer(verb, kwargs, error)
            if answer is None:
                raise
        raise TypeError(answer)

    return answered


def hinting(words: dict[str, str]) -> Callable[[object, str], NoReturn]:
    """Return a `__getattr__` that names our method in the AttributeError for a foreign one."""

    def __getattr__(holder: object, name: str) -> NoReturn:  # noqa: N807 - it becomes one
        own = words.get(name)
        hint = f"; use {own}" if own else ""
        kind = type(holder).__name__
        raise AttributeError(
            f"{kind!r} object has no attribute {name!r}{hint}", name=name, obj=holder
        )

    return __getattr__


def answering_class(made: type[Made]) -> type[Made]:
    """Make a class name our argument in the TypeError for a foreign one that it does not have."""
    made.__init__ = answering(made.__init__)  # type: ignore[method-assign]
    return made


def named_alone(made: type[Made]) -> type[Made]:
    """Make the TypeErrors of the methods of a private class name the method and not the class."""
    for name, method in vars(made).items():
        if isfunction(method):
            method.__qualname__ = unwrap(method).__qualname__ = name
    return made


def _within_options(word: str, own: OwnWords | None) -> OwnWords | None:
    """Return what `open` takes within options=, and our words for all else."""
    given = f"{word}=..." if word in OF_OPTIONS else "" if own is None else own.python
    if not given.startswith(tuple(f"{name}=" for name in OF_OPTIONS)):
        return own
    return OwnWords(f"options=simdb.Options({given}{'...' if given.endswith('=') else ''})", "")


def _answer(verb: Callable[..., object], given: dict[str, object], error: TypeError) -> str | None:
    """Return the message about a foreign argument; None if the error is about anything else."""
    name = verb.__name__
    shown = name if name != "__init__" else verb.__qualname__.split(".")[-2]
    for word in given:
        own = own_word(word)
        if name == "open":
            own = _within_options(word, own)
        if (
            own is not None
            and own.python
            and str(error).endswith(f"{name}() got an unexpected keyword argument {word!r}")
        ):
            return f"{shown}() has no argument {word!r}; use {own.python}"
    return None
