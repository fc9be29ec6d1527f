"""The types of `search=` and the like have the words that are accepted; type checkers see them."""

from typing import get_args

import pytest
from over import over

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
