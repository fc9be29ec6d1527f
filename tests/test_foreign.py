"""A word of another package is answered with our word for it, in Python and on the command line."""

import dataclasses
import inspect
import pickle
import re

import pytest
import vocabulary
from click.testing import CliRunner
from over import over

import simdb
from simdb.cli.app import app
from simdb.core import foreign


@over(
    ("call", "word", "own"),
    [
        (lambda given: simdb.deduplicate(["a"], **given), "threshold", "similarity="),
        (lambda given: simdb.deduplicate(["a"], **given), "output", r"\.write\(path\)"),
        (lambda given: simdb.deduplicate(["a"], **given), "shingle", "simdb.Simhash"),
        (lambda given: simdb.deduplicate(["a"], **given), "min_words", "simdb.Unit"),
        (lambda given: simdb.deduplicate(["a"], **given), "memory", "simdb.Budget"),
        (lambda given: simdb.deduplicate(["a"], **given), "options", r"db=simdb\.open"),
        (lambda given: simdb.decontaminate(["a"], **given), "memory", "simdb.Budget"),
        (lambda given: simdb.decontaminate(["a"], **given), "threshold", "coverage="),
        (lambda given: simdb.Options(**given), "threshold", "similarity="),
        (lambda given: simdb.open(None, **given), "readonly", 'mode "r"'),
        (lambda given: simdb.open(None, **given), "threshold", r"options=.*\(similarity=\.\.\.\)"),
        (lambda given: simdb.open(None, **given), "shingle", r"options=.*Simhash\(shingle="),
        (lambda given: simdb.Minhash(**given), "num_perm", "simdb.Minhash"),
        (lambda given: simdb.fingerprint("a", **given), "shingle", "simdb.Simhash"),
        (lambda given: simdb.signatures(["a"], **given), "shingle", "simdb.Minhash"),
        (lambda given: simdb.open(None).query("a", **given), "n_results", "limit="),
        (lambda given: simdb.open(None).find_all(**given), "n_jobs", "threads="),
        (lambda given: simdb.open(None).find_clusters(**given), "representative", "keep="),
        (lambda given: simdb.open(None).read().first("a", **given), "threshold", "similarity="),
        (lambda given: simdb.open(None).insert(1, "a", **given), "replace", "on_conflict="),
    ],
)
def test_a_foreign_argument_is_answered_with_our_word(call, word, own, short_waits):
    with pytest.raises(TypeError, match=rf"\w+\(\) has no argument '{word}'; use .*{own}"):
        call({word: 0.9})


@pytest.mark.parametrize("word", ["replace", "representative", "n_results"])
def test_a_verb_is_not_answered_with_an_argument_that_it_does_not_have(word):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{word}'$"):
        simdb.decontaminate(["a"], against=["b"], **{word: 1})


def test_a_foreign_method_is_answered_with_ours(short_waits):
    result, database = simdb.deduplicate(["a text", "a text"]), simdb.open(None)
    clean = simdb.decontaminate(["a text"], against=["a test of seven words is here"])
    database.insert(1, "a text")
    document = database.get(1)
    with database.read() as snapshot, database.write() as transaction:
        for holders, name, own in [
            ((database, snapshot, transaction), "search", r"query\(document\)"),
            ((database, snapshot, transaction), "add", r"insert\(id, document\)"),
            ((database, snapshot, transaction), "upsert", "on_conflict='replace'"),
            ((database, snapshot, transaction), "remove", r"delete\(id\)"),
            ([result], "to_csv", r"\.write\(path\)"), ([result], "to_pandas", r"\.data"),
            ([clean], "to_csv", r"\.write\(path\)"), ([clean], "contaminated", r"\.leaks"),
            ([document], "content", r"\.text, with Options"),
        ]:  # fmt: skip
            for holder in holders:
                with pytest.raises(AttributeError, match=f"no attribute '{name}'; use .*{own}"):
                    getattr(holder, name)
    for holder in (result, clean, document):
        with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
            holder.nonsense  # noqa: B018
        assert type(pickle.loads(pickle.dumps(holder))) is type(holder)


def test_the_tables_answer_only_words_that_are_not_ours_with_words_that_are():
    for kind in (simdb.Database, simdb.ShardedDatabase, simdb.Deduplicated, simdb.Document):
        words = foreign.own_words(kind.__name__.removeprefix("Sharded"))
        assert words
        assert [word for word in words if hasattr(kind, word)] == []
    for word in foreign.own_words("arguments"):
        assert not foreign.own_word(word).startswith(f"{word}=")
    names = {each.name for each in dataclasses.fields(simdb.Options)}
    assert names >= set(foreign.own_words("open"))


def test_texts_where_fingerprints_belong_are_answered_with_what_to_do():
    for call in (simdb.find_clusters, simdb.find_all):
        with pytest.raises(simdb.InputError, match=r"of texts give simdb.fingerprints\(texts\)"):
            list(call(["a text", "another"]))


@over(
    ("call", "verb"),
    [
        (lambda database: database.insert("a"), "insert"),
        (lambda database: database.insert("a", "b", None, "skip"), "insert"),
        (lambda database: database.delete(), "delete"),
        (lambda database: database.read().query("a", nonsense=1), "query"),
        (lambda database: database.write().add_many_if_new(), "add_many_if_new"),
        (lambda database: database.find_all(nonsense=1), "find_all"),
    ],
)
def test_a_wrong_call_is_answered_with_the_name_of_the_verb(call, verb, short_waits):
    """It was named as a method of a class that no user knows: Writing.insert()."""
    with pytest.raises(TypeError, match=rf"^{verb}\(\) "):
        call(simdb.open(None))


def test_an_error_inside_a_verb_stays_as_it_is():
    def length(row):
        return row.threshold()

    with pytest.raises(AttributeError, match="threshold"):
        simdb.deduplicate(["a", "a"], keep=length)
    with pytest.raises(TypeError, match=re.escape("object of type 'int' has no len()")):
        simdb.deduplicate(["a", "a"], keep=lambda row: len(1))


def test_a_verb_that_answers_keeps_its_signature_and_travels_by_name():
    assert tuple(inspect.signature(simdb.deduplicate).parameters) == vocabulary.DEDUPLICATE
    assert simdb.deduplicate.__doc__.startswith("Remove the near-duplicates")
    assert pickle.loads(pickle.dumps(simdb.deduplicate)) is simdb.deduplicate


@over(
    ("arguments", "answer"),
    [
        ("dedup a --threshold 0.9", "--threshold; use --similarity"),
        ("dedup a --jaccard-threshold=0.9", "--jaccard-threshold; use --similarity"),
        ("dedup a --column body", "--column; use --text-field"),
        ("dedup a --threads 4", "--threads; use the environment variable SIMDB_THREADS"),
        ("dedup a --keep-by longest", "--keep-by; use --keep RULE"),
        ("query d text --threshold 0.9", "--threshold; use --similarity"),
        ("stats d --readonly", "--readonly; use nothing in its place"),
        ("stats d --output x", "--output; use > FILE"),
        ("stats d -o x", "-o; use > FILE"),
    ],
)
def test_a_foreign_option_is_answered_with_our_word(arguments, answer):
    ran = CliRunner().invoke(app, arguments.split())

    assert ran.exit_code == 2
    assert f"No such option: {answer}" in ran.stderr


def test_an_answer_names_no_option_that_the_command_lacks():
    ran = CliRunner().invoke(app, ["stats", "d", "--threshold", "0.9"])

    assert ran.exit_code == 2
    assert "--similarity" not in ran.stderr
    assert "--threshold" in ran.stderr
