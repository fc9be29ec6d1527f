"""Command line: the commands in groups, each with the first sentence of its help.

Each command parses, calls and prints.  Their modules are cold: only the module of the command that
runs is loaded, and none for the help of the program, which lists the commands in this order:

Find near-duplicates
    dedup: Find near-duplicate documents in files, folders and records.
    decontaminate: Find the items of a test in training data, and remove the documents that have
        them.
    lookup: Show which documents a database has already, and store nothing.
    query: Show the stored documents that match a text, a file, a stored document or a fingerprint.
    pairs: Show all pairs of stored documents that match.
    clusters: Show the groups of stored documents that match, the representative of each first.
    cluster: Show the cluster of one stored document, the representative first.
    spark: Run the main job on a cluster, by PySpark 4.1 or newer.
    demo: Find near-duplicates among the Python files of this machine, and show how long it takes.

Store documents
    create: Create an empty database; its options are stored with it and cannot be changed.
    insert: Insert documents in one transaction; create the database if it does not exist.
    delete: Delete stored documents, by id, by their metadata or by their age.
    get: Show the fingerprint and metadata of stored documents; texts are not stored.
    idf: Compute an IDF table from documents: a rare feature gets a high weight.
    import-datasketch: Make a new database from a pickled datasketch MinHashLSH, or a dict or list
        of MinHash.

Understand and tune
    tune: Advise on unit, shingle, weighting and threshold for documents, by a sample of them.
    explain: Explain why two documents match or do not: the words, features, bits and tables that
        differ.
    fingerprint: Show the fingerprints of texts: 64 bits, the number of features, the most volatile
        bits.
    plan: Show how a query would be answered, at what cost, and why no other method was chosen.
    calibrate: Learn from a sample how similar documents differ, so that queries need less
        searching.

Look after a database
    stats: Show what a database holds, its size and age, and what to do.
    report: Write a page about a database for people: sizes, groups, similarities and advice.
    check: Look for damage in a database, and say how to repair it.
    doctor: Give advice on a database; change nothing.
    compact: Merge all runs of a database into one, drop deleted documents, and shrink the file.
    rebuild: Repair a database: make all its tables again from the stored documents.
    copy: Copy the current state of a database to a new directory; other processes can keep writing.
    merge: Store the documents of other databases with the same sketch in a database, all or none.
    dump: Write everything in a database to one portable file; other processes can keep writing.
    load: Make a new database from a dump, completely or not at all.
"""

from simdb.ground import cold

# The module of each command that shares one; any other command has a module of its own name.
SHARED = {
    "fingerprint": "sketching", "idf": "sketching", "calibrate": "sketching",
    "pairs": "listing", "clusters": "listing",
    "get": "documents", "cluster": "documents", "delete": "documents",
    "stats": "inspection", "check": "inspection", "doctor": "inspection",
    "create": "plan", "copy": "upkeep", "merge": "upkeep", "dump": "upkeep", "load": "upkeep",
    "compact": "upkeep", "rebuild": "upkeep", "import-datasketch": "upkeep",
}  # fmt: skip


def _listed(lines: list[str]) -> dict[str, dict[str, str]]:
    """Return the sentences of commands by name and group, of the lines that list them."""
    groups: dict[str, dict[str, str]] = {}
    found, last = dict[str, str](), ""
    for line in lines:
        if line.startswith(" " * 8):
            found[last] += f" {line.strip()}"
        elif line.startswith(" "):
            last, _, text = line.strip().partition(": ")
            found[last] = text
        elif line:
            found = groups[line] = {}
    return groups


COMMANDS = _listed((__doc__ or "").partition("order:\n")[2].split("\n"))
NAMES = [name for group in COMMANDS.values() for name in group]


def module_of(command: str) -> str:
    """Return the module, in this folder, that holds the function of a command."""
    return SHARED.get(command, command.replace("-", "_"))


__getattr__ = cold.modules(__name__, list(dict.fromkeys(map(module_of, NAMES))))
