"""Wrong use of a command: exit code 2 or 3, one message that names it, and nothing is touched."""

import shlex
from pathlib import Path

import pytest

FOX = "the quick brown fox jumps over the lazy dog and then it runs home to sleep"
STAYS = "which stays as it is"
DEDUP = {
    "dedup a.jsonl --texts a.jsonl": "--texts works only with --db",
    "dedup a.jsonl --features": "--features says what the database of --db stores; give both",
    "dedup a.jsonl --features --db db": "was created without --features",
    "dedup a.jsonl --max-share 2": "--max-share must be above 0 and at most 1, got 2.0; 2 %",
    "dedup a.jsonl --verify exact --distance 3": "decides by similarity; give --similarity",
    "dedup a.jsonl --policy connected --db d": "--policy connected works only without --db",
    "dedup a.jsonl --existing": "--existing says that the database of --db exists; give both",
    "dedup a.jsonl --run x": "--run names a run for --db",
    f"dedup a.jsonl --run {'x' * 495} --db d": "1 to 494 bytes",
    "dedup a.jsonl --memory much": "--memory takes a size such as 500M or 2G; got 'much'",
    "dedup a.jsonl --memory 1K": "must be 67108864 bytes (64M) or more, got 1024",
    "dedup a.jsonl --delimiter ''": "--delimiter takes one character",
    "dedup a.jsonl --delimiter '\"'": "--delimiter takes one character",
    "dedup a.jsonl --weighting tf --db db": "leave out the option",
    "dedup a.jsonl --minhash --db db": "db was created with --minhash",
    "dedup a.jsonl --dimensions 64 --db mh": "mh was created with --dimensions",
    "dedup db": "db is a database of simdb, which has no texts to read",
    "dedup a.jsonl --keep-by last": "No such option: --keep-by; use --keep RULE",
    "dedup a.jsonl --keep min:score": "a.jsonl:1: --keep min:score needs numbers or text",
    "dedup a.jsonl --keep longer": "--keep must be 'first', 'last', 'longest', 'shortest', 'max:",
    "dedup a.jsonl --keep out/k.jsonl": "-o out/k.jsonl writes the documents to keep",
    "dedup a.jsonl --keep max:m -o k.jsonl": "no field 'm'; name another (found: 'id', 'text', 'sc",
    "dedup a.jsonl two.csv --keep max:n": "several columns are called 'n'",
    "dedup a.jsonl --unit lines": "--unit must be one of 'document', 'paragraph'",
    "dedup a.jsonl --min-words 3": "--min-words is for parts",
    "dedup a.jsonl --unit line --similarity 0.5 --db d": "with --db is for whole documents",
    "dedup a.jsonl --unit line --keep last": "--keep is for whole documents",
    "dedup a.jsonl --unit line --show 9": "--show shows whole texts that match; leave it",
    "dedup page.txt --unit line -o k.txt": "written as records",
}
OUTPUTS = {
    "dedup a.jsonl -o x.csv --groups f/../x.csv": "are both",
    "dedup a.jsonl --groups new.csv --report new.csv": "are both",
    "dedup a.jsonl -o new.jsonl --report new.jsonl.partial": "are both",
    "dedup a.jsonl --db new -o x.csv --groups link.csv": "are both",
    "lookup db a.jsonl --new x.csv --found link.csv": "are both",
    "lookup db a.jsonl -o - --found -": "are both",
    "decontaminate a.jsonl --against in -o x.csv --leaks hard.csv": "are both",
    "decontaminate a.jsonl --against in --report x.csv --leaks x.csv": "are both",
    "dedup a.jsonl --db new -o new/": "new has its place there; name another one",
    "dedup a.jsonl --db new/db -o new/": "has its place there; name another one",
    "dedup a.jsonl --db db --groups db/g.jsonl": "has its place there; name another one",
    "lookup db a.jsonl --new db/new.jsonl": "has its place there; name another one",
    "pairs db -o db/pairs.jsonl": "has its place there; name another one",
    "report db -o db/data.mdb": "has its place there; name another one",
    "dump db -o db/data.mdb": "has its place there; name another one",
    "dedup f/a.txt -o f/": "it is the folder of f/a.txt; name another one",
    "dedup a.jsonl -o new/ --groups new/g.csv": "has its place there; name another one",
    "copy db db/new": "has its place there; name another one",
    "idf a.jsonl -o a.jsonl": "a.jsonl is a source, which stays as it is",
    "decontaminate a.jsonl --against db -o db/": "db is a database of simdb",
    "dedup a.jsonl --groups a.jsonl --in-place": "a.jsonl is a source, which stays as it is",
    "dedup a.jsonl --groups -": "--groups names a file",
    "dedup a.jsonl -o kept": "the output must end in .jsonl, .ndjson, .csv, .tsv",
    "dedup a.jsonl --groups k.json": "--groups must end in",
    "dedup a.jsonl -o k.parquet.gz": "leave out k.parquet.gz's .gz",
    "dedup a.jsonl --report -": "--report names a file",
    "dedup a.jsonl --report none/page.html --db d": "cannot be written: there is no folder",
    "dedup a.jsonl -o full/": "the folder holds other files, such as notes.txt; name a new one",
    f"dedup a.jsonl -o {'o' * 300}.jsonl": "o.jsonl cannot be written: File name too long",
    "dedup in/part.jsonl -o in/": "it is the folder of in/part.jsonl",
    "dedup - -o o/": "standard input has no name",
    "dedup array.json -o o/": "must end in .jsonl, .ndjson, .csv, .tsv",
    "dedup a.jsonl -o page.txt/": "it is a file; name a new folder",
    "dedup a.jsonl in -o o/": "takes either documents that are files, or",
    "dedup f g/f -o o/": "would both be called f",
    "dedup a.jsonl --groups a.jsonl": f"a.jsonl is a source, {STAYS}; name another file for the ou",
    "dedup page.txt bad.txt --in-place -o bad.txt": f"bad.txt is a source, {STAYS}",
    "dedup b.jsonl --db d --texts a.jsonl -o a.jsonl": f"a.jsonl is in --texts, {STAYS}",
    "lookup db a.jsonl -o ./a.jsonl": f"a.jsonl is a source, {STAYS}",
    "decontaminate a.jsonl --against b.jsonl --leaks a.jsonl": f"a.jsonl is a source, {STAYS}",
    "pairs db --texts a.jsonl -o a.jsonl": f"a.jsonl is in --texts, {STAYS}",
    "pairs db -o p.xml": "--output must end in .jsonl, .ndjson, .csv, .tsv",
    "lookup db a.jsonl -o o.txt": "--output must end in",
    "lookup db a.jsonl --new x.jsonl --found ./x.jsonl": "name two outputs",
    "lookup db a.jsonl --new x.jsonl --nearest 2": "leave out --nearest, or --new and --found",
    "lookup db a.jsonl --new x.txt": "holds records",
    "lookup db page.txt --new x.txt --found x.jsonl": "let both names end alike",
    "lookup db a.jsonl --keep x": "use --new FILE",
    "report db": "-o FILE names the page, such as -o report.html; - prints it",
    "report db -o no/folder/page.html": "cannot be written: there is no folder",
    "idf a.jsonl": "--output FILE or --db DB",
    "idf a.jsonl -o words.idf --idf words.idf": "--output FILE or --db DB",
}
AGAINST = {
    "--db d": "--against compares with a reference and stores nothing",
    "--policy connected": "works only without --against",
    "--unit line": "--against is for whole documents",
    "--texts a.jsonl": "--texts works only with --db, or a database in --against",
    "-o b.jsonl": f"b.jsonl is in --against, {STAYS}",
    "-o held/": f"held/a.jsonl is in --against, {STAYS}",
    "--report held/a.jsonl": f"held/a.jsonl is in --against, {STAYS}",
    "--against a.jsonl": "a.jsonl is both in the data and in the reference",
    "--against gone.jsonl": "there is no file or folder gone.jsonl",
    "--against db": "db is a database, which is a reference by itself",
    "--text-field body -o kept.jsonl": "use --text-field to name the field",
}
SEARCHES = {
    "insert db b.jsonl --match all --on-conflict replace": "takes either --match or --on-conflict",
    f"insert db b.jsonl --match all --search memory_limit={'9' * 5000}": "memory_limit",
    "lookup db b.jsonl --search memory_limit=0": "memory_limit of --search must be 1 byte or more",
    "query db fox --search memory_limit=1": "memory_limit of --search does not apply to this verb",
    "insert db b.jsonl --match all --search memory_limit=\u0b6dM": "--search takes the name",
    "insert db b.jsonl --search memory_limit=1G": "--search needs --match first or all",
    "insert db b.jsonl --match all --search psm,flips=3": "--search takes the name of a method",
    "insert db b.jsonl --similarity 0.9": "--similarity needs --match first or all",
    "insert db": "insert needs either SOURCE... or --id with --text",
    "insert db b.jsonl --id x --text y": "insert needs either SOURCE... or --id with --text",
    "query db fox --nearest 3 --similarity 1": "--similarity does not apply to --nearest",
    "query db fox --nearest 3 --limit 1": "--limit does not apply to --nearest",
    "query db fox --nearest 0": "k must be a whole number of 1 or more, got 0",
    "query db fox --nearest 2 --search psm": "--search does not apply to --nearest",
    "query db": "query needs exactly one of TEXT, -, --file, --id and --fingerprint",
    "query db --id ''": "id 0 is empty",
    "query db --file missing": "missing: there is no such file",
    "query db --file bad.txt": "bad.txt: invalid utf-8 at byte 3",
    "query db --fingerprint nine": "must be a whole number, decimal or 0x..., got 'nine'",
    "query db --fingerprint -1": "must be a whole number in 0 .. 2**64 - 1, got -1",
    "query db fox --distance 65": "distance must be",
    "query db fox --limit -1": "limit must be a whole number of 1 or more, or None, got -1",
    "query mh fox --distance 3": "--distance works only with fingerprints",
    "query mh --fingerprint 7": "document 0 is int; a MinHash sketch takes",
    "query passages fox --contained 2": "contained must be above 0 and at most 1",
    "query passages fox --contained .8 --similarity .9": "--similarity does not apply to",
    "query passages fox --contained .8 --nearest 3": "does not apply",
    "query passages fox --texts a.jsonl": "--texts measures --contained",
    "query db fox --contained .8": "simdb create --passages",
    "pairs passages --contained .8 --distance 3": "--distance does not apply to --contained",
    "pairs passages --contained .8 --verify estimate": "--verify does not apply to --contained",
    "pairs db --similarity x%": "'x%' is not a valid float",
    "pairs db --verify exact": "--verify exact needs --texts SOURCE",
    "pairs db --show 5 --texts a.jsonl --output x.csv": "does not apply to --output",
    "clusters db --show 5 --texts missing.jsonl": "there is no file or folder missing.jsonl",
    "clusters db --representative n": "No such option: --representative; use --keep min:FIELD",
    "cluster db x": "--keep-clusters distance or similarity",
    "lookup db a.jsonl --nearest 2 --similarity .5": "--similarity does not apply to --nearest",
    "lookup db a.jsonl --nearest 2 --all": "--all does not apply to --nearest",
    "report db -o - --texts nowhere": "there is no file or folder nowhere",
}
REST = {
    "create new --shingle 0": "shingle must be a whole number from 1 to 64, got 0",
    "create new --preset best": "--preset must be paper or moz, got 'best'",
    "create new --stop-words @words": "words: there is no such file",
    "create new --keep-clusters yes": "--keep-clusters",
    "create new --permutations 64": "works only with MinHash signatures; add --minhash",
    "create new --minhash --no-volatility": "--no-volatility",
    "create new --minhash --polytopes 2": "works only with fingerprints",
    "create new --passages --unit characters": "--passages needs texts that are cut into words",
    "create new --idf words.idf --shingle 3": "shingle was 1, not 3",
    "delete db": "delete needs one of ID..., --ids, and --where or --older-than",
    "delete db a --ids -": "delete needs one of ID...",
    "delete db --where lang": "--where must be FIELD=VALUE, such as lang=en, got 'lang'",
    "delete db --ids missing.txt": "missing.txt: there is no such file",
    "delete db --ids wide.txt": "wide.txt: invalid utf-16",
    "delete db --ids bad.txt": "simdb: bad.txt: ",
    "delete db --older-than -1d": "such as 30d, got '-1d'",
    "delete db --older-than 1d": "keeps no times of documents",
    "delete db a --older-than 1d": "delete needs one of ID...",
    "get db x --int-ids": "the id 'x' is not a whole number; leave out --int-ids",
    "plan": "plan needs either DB or --documents N",
    "plan --documents -1": "number of documents",
    "plan --documents 5 --blocks 65": "blocks must be a whole number from 1 to 64, got 65",
    "plan --documents 5 --memory much": "such as 500M or 2G",
    "plan --documents 5 --pairs": "needs a database",
    "plan db --blocks 5": "leave them out",
    "calibrate db --sample 5 --documents a.jsonl": "only one of",
    "calibrate db --sample 0": "sample must be a whole number of 1 or more",
    "calibrate bare": "--volatility",
    "calibrate mh": "calibrate works only with fingerprints",
    "fingerprint": "fingerprint needs either SOURCE... or --text",
    "fingerprint --text fox --db db --seed 8": "db was created with --seed 0, not 8",
    "fingerprint --text fox --db mh": "fingerprint works only with fingerprints of texts",
    "idf a.jsonl --db db": "takes no idf",
    "idf a.jsonl --db weighed --shingle 2": "--shingle 3, not 2",
    "tune empty.jsonl": "there are no texts; tune needs some texts",
    "tune a.jsonl --pairs none.tsv": "none.tsv: there is no such file",
    "explain page.txt": "explain needs two files",
    "explain - -": "explain needs two files, only one of them -",
    "explain db x": "or one id and --document FILE; got 1 id",
    "explain page.txt --db db": "No such option",
    "explain page.txt none.txt": "none.txt: there is no such file",
    "explain db x y --seed 1": "created with --seed 0, not 1",
    "explain page.txt page.txt --encoding klingon": "no text encoding is called",
    "explain held page.txt": "held: cannot be read (Is a directory)",
    "decontaminate a.jsonl": "--against SOURCE names the items",
    "decontaminate a.jsonl --against nowhere.jsonl": "there is no file or folder nowhere.jsonl",
    "decontaminate a.jsonl --against b.jsonl --cut --mark": "give one of --cut, --mark",
    "decontaminate a.jsonl --against b.jsonl --leaks -": "--leaks and --report name files",
    "decontaminate a.jsonl --against b.jsonl --fields body": "no field 'body'; --fields names f",
    "decontaminate in --against b.jsonl --cut": "--cut changes records",
    "decontaminate a.jsonl --against held/a.jsonl -o held/": f"is in --against, {STAYS}",
    "magic": "No such command 'magic'.",
    "qery": "No such command 'qery'. Did you mean 'query'?",
    "expire d": "Use simdb delete DB --older-than 30d.",
}
MISSING = {
    "explain page.txt page.txt --document page.txt": "page.txt is a file; a database",
    "explain nowhere x y": "there is no database at nowhere",
    "explain db x none": "no document has the id 'none'",
    "lookup nowhere a.jsonl": "there is no database at nowhere",
    "report nowhere -o -": "there is no database at nowhere",
    "idf a.jsonl --db nowhere": "there is no database at nowhere",
    "create new --idf none.idf": "no IDF table at none.idf",
    "query nowhere x": "there is no database at nowhere",
    "stats nowhere": "there is no database at nowhere",
    "check nowhere": "there is no database at nowhere",
    "copy nowhere new": "there is no database at nowhere",
}


@pytest.fixture
def run(simdb_run, write_lines):
    """Runs commands beside records, texts, folders and databases of each kind."""
    write_lines("a.jsonl", *({"id": id, "text": f"{FOX} {id}", "score": [1]} for id in "xy"))
    write_lines("b.jsonl", {"id": "o", "text": "something else altogether"})
    for folder in ("held", "in", "full", "f", "g/f"):
        Path(folder).mkdir(parents=True)
    files = {
        "page.txt": FOX, "in/words.txt": FOX, "full/notes.txt": "mine", "f/a.txt": FOX,
        "array.json": "[]", "x.csv": "mine", "empty.jsonl": "",
        "two.csv": f"id,text,n,n\nz,{FOX},1,2\n",
        "held/a.jsonl": Path("b.jsonl").read_text(), "in/part.jsonl": Path("a.jsonl").read_text(),
    }  # fmt: skip
    for name, content in files.items():
        Path(name).write_text(content)
    Path("link.csv").symlink_to("x.csv")
    Path("hard.csv").hardlink_to("x.csv")
    Path("bad.txt").write_bytes(b"caf\xe9")
    Path("wide.txt").write_bytes(b"\xff\xfe\x00\xd8")
    simdb_run("idf", "a.jsonl", "-o", "words.idf", "--shingle", 1)
    simdb_run("insert", "db", "a.jsonl")
    for name, *words in (
        ["mh", "--minhash"], ["passages", "--passages"], ["weighed", "--weighting", "tf-idf"],
        ["bare", "--no-volatility"],
    ):  # fmt: skip
        assert simdb_run("create", name, *words).code == 0
    return simdb_run


def contents():
    paths = (path for path in Path().rglob("*") if "lock" not in path.name)
    return {path: path.is_file() and path.read_bytes() for path in paths}


@pytest.mark.parametrize("commands", [DEDUP, OUTPUTS, SEARCHES, REST], ids=[*"dosr"])
def test_wrong_use_is_exit_code_2_with_its_reason_and_nothing_is_touched(run, commands):
    before, failures = contents(), {}

    for command, message in commands.items():
        ran = run(*shlex.split(command), given="")
        if (ran.code, ran.output) != (2, "") or message not in ran.notes or contents() != before:
            failures[command] = ran.code, message, ran.notes, {*contents()} ^ {*before}

    assert failures == {}


def test_what_does_not_go_with_a_reference_is_refused(run):
    """A file of survivors, called as its source, took the place of the reference of that name."""
    before = contents()

    for words, message in AGAINST.items():
        ran = run("dedup", "a.jsonl", "--against", "b.jsonl", "held", *shlex.split(words))
        assert (ran.code, message in ran.notes) == (2, True), (words, ran.notes)
        assert contents() == before, words


def test_what_is_not_there_is_exit_code_3_and_is_not_made(run):
    before = contents()

    for command, message in MISSING.items():
        ran = run(*shlex.split(command))
        assert (ran.code, ran.output, message in ran.notes) == (3, "", True), (command, ran.notes)
        assert contents() == before, command
