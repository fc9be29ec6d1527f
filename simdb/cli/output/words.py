"""Words: messages of the library in the words of the command line.

The library names what a program writes: `mode 'c'`, `similarity=`, `compact()`.  On a terminal
these are commands and options.  All translations are in this module.
"""

import re
from typing import Any

# Arguments and settings that an option of the same name gives, with dashes for underscores.
OPTIONS = (
    "allow", "bands", "blocks", "by_character", "checkpoint", "clean", "contained",
    "dimensions", "distance", "distance_tables", "documents", "encoding", "errors", "family",
    "features", "fields", "header_offset", "html_links", "html_title", "id", "idf", "keep",
    "keep_clusters", "leading", "lowercase", "marks", "markup", "max_share", "minhash",
    "normalisation", "on_conflict", "on_null", "pairs", "passages", "permutations", "policy",
    "polytopes", "recall", "rows", "sample", "search", "seed", "shingle", "similarity",
    "stemming", "stop_words", "stored_bits", "texts", "tokeniser", "turkic_case", "unit",
    "verify", "volatility", "weighting",
)  # fmt: skip
# Names of users, such as the id `page?id=3` or the file `find_all.py`, stay as they are: those of
# the library follow a space or a bracket.
START, END = r"(?<![^\s(])", r"(?![\w/.]\w|[/'\"])"
VALUE = r"(?:'(?P<text>[^']*)'|(?P<flag>True|False)\b|(?P<number>-?\w[\w.]*(?<!\.)))?"
OPTION = re.compile(rf"{START}(?P<name>{'|'.join(OPTIONS)})=(?!=){VALUE}{END}")

# In this order: whole phrases first, then the calls and names that are left.
PHRASES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"there is no database at (.+); mode 'c' creates one",
            r"there is no database at \1; simdb create \1 makes one",
        ),
        (
            r"there is a database at (.+) already; mode 'w' opens it",
            r"there is a database at \1 already; simdb insert \1 SOURCE adds to it",
        ),
        (
            r"(\S+) is a file; a simdb database is a directory",
            r"\1 is a file, and a database is a directory; simdb dedup \1 finds near-duplicates in"
            " files",
        ),
        (
            r"a database without a place on the disk is simdb\.open\(None\)",
            "a database is a directory on a local disk",
        ),
        (r"open it with mode 'w'(?: or 'c')?", "open it for writing"),
        (r"to read the database, open it in mode 'r'", "get, query, lookup and stats only read it"),
        (rf"{START}action='(drop|cut|mark)'", r"--\1"),
        (
            r"open it with simdb\.open_sharded, or one of its shards",
            "get, query, lookup, pairs, clusters, explain, plan, stats, check and doctor take it"
            " whole, all others one of its shards",
        ),
        (r", or open the others with missing='skip'", ""),
        (r"the shards: simdb\.finish_sharded", "the shards, by the program that made it"),
        (r"; distribute ids by simdb\.shard_of\(ids, \w+\)", "; write the shards again"),
        (r"try again, or open with a longer timeout=", "try again later"),
        (r"use simdb\.open\(path, allow=\[.*\]\), or --allow", "use --allow"),
        (
            r"on_conflict='replace' replaces stored documents, 'skip' keeps them",
            "--on-conflict replace replaces stored documents, --on-conflict skip keeps them",
        ),
        (r"Open it without options=", "Leave these options out"),
        (
            r"open with a larger map_size=",
            "programs that keep it open should ask for a larger map_size",
        ),
        (r"give them as pairs= and labels= \(--pairs FILE\)", "give them as --pairs FILE"),
        (r"use ids='text' \(--text-ids\)", "use --text-ids"),
        (r"(?:simdb\.)?[a-z]+\((?:(?:path, )?drop_damaged=True)?\), (simdb [a-z]+)", r"\1"),
        (r"fit one with simdb\.fit_idf\(documents, sketch\)", "make one with simdb idf"),
        (
            r"fit one with simdb\.fit_idf, and pass it to the sketch \(idf=\) or to the empty"
            r" database \(set_idf\)",
            "make one with simdb idf, and name its file by --idf, or store it by simdb idf --db",
        ),
        (r"from simdb\.fit_idf|made by simdb\.fit_idf", "made by simdb idf"),
        (r"create a database with Options\(passages=True\), simdb create", "use simdb create"),
        (r"Options\(keep_times='inserted'\) or 'seen'", "--keep-times inserted or seen"),
        (r"use delete_where with a date in their metadata", "delete them with --where"),
        (
            r"Options\(keep_clusters='distance'\) or 'similarity'",
            "--keep-clusters distance or similarity",
        ),
        (r"use (?:simdb\.)?Simhash\.moz\(\)", "use --preset moz"),
        (r"(?:simdb\.)?(?:Simhash|Options)\(([^()]*)\)", r"\1"),
        (r"(?:simdb\.)?Minhash\(([^()]*)\)", r"--minhash \1"),
        (r"with a Minhash\b", "with --minhash"),
        (r"a Simhash that stores vectors", "fingerprints and stored vectors"),
        (r"give a simdb\.Fingerprint with weights or a text", "give a text"),
        (r"give a simdb\.Fingerprint with weights, or", "give a text, or"),
        (r"\brebuild\(polytopes=4\)", "simdb rebuild --polytopes 4"),
        (rf"{START}(compact|rebuild|calibrate)\(\){END}", r"simdb \1"),
        (rf"{START}find_all{END}", "simdb pairs"),
        (rf"{START}find_clusters{END}", "simdb clusters"),
        (r"\binsert by add_if_new\b", "store with simdb dedup --db"),
        (r"\bto plan with pairs=True", "to simdb plan with --pairs"),
        (r"simdb\.Search\(method='rotation', rotations=64\)", "--search rotation,rotations=64"),
        (r"\bstore_volatility=", "volatility="),
        (r"\bhtml_weights(?:=|(?= must give))", "--html-weight"),
    )
)


def in_words(message: str) -> str:
    """Return a message of the library in the words of the command line."""
    for pattern, words in PHRASES:
        message = pattern.sub(words, message)
    return OPTION.sub(_option, message)


def row_in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the texts in it as `in_words` gives them."""
    return {
        name: in_words(value) if isinstance(value, str) else value for name, value in row.items()
    }


def _option(found: re.Match[str]) -> str:
    """Return the option that gives an argument: `--recall 1.0` for recall=1.0."""
    name = found["name"].replace("_", "-")
    if found["flag"] is not None:
        return f"--{name}" if found["flag"] == "True" else f"--no-{name}"
    value = found["number"] if found["text"] is None else found["text"]
    return f"--{name}" if value is None else f"--{name} {value}"
