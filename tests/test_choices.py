"""The types of `search=` and the like have the words that are accepted; type checkers see them."""

from typing import get_args

import pytest
from over import over
from type_checking import checked

import simdb
from simdb.core import choices
from simdb.core.choices import ON_NULL
from simdb.core.options import (
    METHODS,
    MINHASH_METHODS,
)
from simdb.database.clusters.find import POLICIES
from simdb.database.search.judge import VERIFICATIONS
from simdb.database.search.many import MATCHED
from simdb.database.sharding.shards import MISSING
from simdb.database.state.store import MODES
from simdb.database.write.conflicts import RULES
from simdb.sketch.pipeline import ERRORS
from simdb.storage.files import DURABILITIES

SNIPPET = """\
import simdb

database = simdb.open("path", "c", durability="full")
database.query("text", search="psm", errors="replace")
database.find_clusters(policy="star", verify="exact")
database.insert_batch([1], ["text"], match="first")
database.add_if_new(1, "text", search="multiprobe")
simdb.deduplicate(["text"], on_null="drop")
database.insert(1, "text", on_conflict="skip")
simdb.open_sharded("shards", missing="error")
simdb.Options(keep_times="seen", keep_clusters="distance")
simdb.Simhash(
    markup="html", normalisation="nfkc", unit="whitespace", by_character="", weighting="log-tf"
)
simdb.Minhash(by_character="cjk", weighting="bag", family="mersenne")
"""
# What is written in the snippet, and what a hasty user writes.
SLIPS = [
    ('"psm"', '"pms"'),
    ('"replace"', '"ignore"'),
    ('"star"', '"strar"'),
    ('"exact"', '"exakt"'),
    ('"first"', '"frist"'),
    ('"c"', '"rw"'),
    ('"full"', '"ful"'),
    ('"multiprobe"', '"multi-probe"'),
    ('"drop"', '"dropp"'),
    ('"skip"', '"ignored"'),
    ('"error"', '"raise"'),
    ('"seen"', '"saw"'),
    ('"distance"', '"distances"'),
    ('"html"', '"HTML"'),
    ('"nfkc"', '"NFKC"'),
    ('"whitespace"', '"space"'),
    ('"log-tf"', '"logtf"'),
    ('"cjk"', '"CJK"'),
    ('"bag"', '"bags"'),
    ('"mersenne"', '"mersene"'),
]


@over(
    ("name", "accepted"),
    [
        (choices.MethodName, {*METHODS, *MINHASH_METHODS}),
        (choices.PolicyName, set(POLICIES)),
        (choices.MatchName, set(MATCHED)),
        (choices.VerifyName, set(VERIFICATIONS)),
        (choices.ErrorsName, set(ERRORS)),
        (choices.NullName, set(ON_NULL)),
        (choices.ModeName, set(MODES)),
        (choices.DurabilityName, set(DURABILITIES)),
        (choices.ConflictName, set(RULES)),
        (choices.MissingName, set(MISSING)),
    ],
)
def test_a_type_has_the_words_that_are_accepted(name, accepted):
    assert set(get_args(name)) == accepted
    assert all(f'"{word}"' in choices.__doc__ for word in accepted)


@over(
    ("options", "name", "accepted"),
    [
        (simdb.Options, "keep_times", choices.TimesName),
        (simdb.Options, "keep_clusters", choices.ClustersName),
        (simdb.Options, "distance_tables", choices.DistanceTablesName),
        (simdb.Simhash, "markup", choices.MarkupName),
        (simdb.Simhash, "normalisation", choices.NormalisationName),
        (simdb.Simhash, "marks", choices.MarksName),
        (simdb.Minhash, "unit", choices.UnitName),
        (simdb.Minhash, "by_character", choices.ByCharacterName),
        (simdb.Simhash, "weighting", choices.SimhashWeightingName),
        (simdb.Minhash, "weighting", choices.MinhashWeightingName),
        (simdb.Minhash, "family", choices.FamilyName),
    ],
)
def test_an_option_takes_the_words_of_its_type_and_no_others(options, name, accepted):
    with pytest.raises(simdb.OptionError, match=f"^{name} must be one of") as refused:
        options(**{name: "unheard-of"})

    assert all(repr(word) in str(refused.value) for word in get_args(accepted))
    assert all(f'"{word}"' in choices.__doc__ for word in get_args(accepted))


@pytest.mark.more
def test_a_type_checker_finds_every_misspelt_word_and_nothing_else(tmp_path):
    wrong = SNIPPET
    for right, slip in SLIPS:
        wrong = wrong.replace(right, slip)

    errors = checked(tmp_path, SNIPPET + wrong)

    assert len(errors) == len(SLIPS)
    for _, slip in SLIPS:
        assert sum(f"Literal[{slip[1:-1]!r}]" in line for line in errors) == 1


def test_at_run_time_the_same_words_are_refused(database):
    with pytest.raises(simdb.OptionError, match="'pms'"):
        database.query("text", search="pms")
