"""The types of `search=` and the like have the words that are accepted; type checkers see them."""

from typing import get_args

import pytest
from over import over
from type_checking import checked

import simdb
from simdb.core import choices
from simdb.core.choices import ON_NULL
from simdb.core.options import (
    FAMILIES,
    KEPT,
    METHODS,
    MINHASH_METHODS,
    READY_FAMILIES,
    TIMES_KEPT,
)
from simdb.core.text_sketch import CUT_BY_CHARACTER, MARKUPS, NORMALISATIONS, UNITS
from simdb.database.clusters.find import POLICIES
from simdb.database.search.judge import VERIFICATIONS
from simdb.database.search.many import MATCHED
from simdb.database.sharding.shards import MISSING
from simdb.database.state.opening import MODES
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
        (choices.TimesName, set(TIMES_KEPT)),
        (choices.ClustersName, set(KEPT)),
        (choices.MarkupName, set(MARKUPS)),
        (choices.NormalisationName, set(NORMALISATIONS)),
        (choices.UnitName, set(UNITS)),
        (choices.ByCharacterName, {"", *CUT_BY_CHARACTER}),
        (choices.SimhashWeightingName, set(simdb.Simhash.WEIGHTINGS)),
        (choices.MinhashWeightingName, set(simdb.Minhash.WEIGHTINGS)),
        (choices.FamilyName, {*FAMILIES, *READY_FAMILIES}),
    ],
)
def test_a_type_has_the_words_that_are_accepted(name, accepted):
    assert set(get_args(name)) == accepted
    assert all(f'"{word}"' in choices.__doc__ for word in accepted)


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
