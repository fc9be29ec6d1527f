"""A database goes on cutting scripts as it was created, whatever is done with it."""

import pytest
from script_oracle import made_text, with_changes

import simdb

TEXTS = [made_text(script, 60, seed) for script in ("thai", "burmese") for seed in range(6)]
SKETCHES = [
    kind(by_character=by_character)
    for kind in (simdb.Simhash, simdb.Minhash)
    for by_character in ("spaceless", "cjk")
]


def answers(path, **settings):
    """Return the sketch, the matches of each text, and the similarity of a copy with changes."""
    with simdb.open(path, **settings) as database:
        matches = database.query_many(TEXTS, similarity=0.999, recall=1.0)
        copy = with_changes(TEXTS[0], 1, every=40)
        near = database.query(copy, similarity=0.1, recall=1.0, limit=1)
        return (
            database.options.sketch,
            [[match.id for match in row] for row in matches],
            max([0, *(match.similarity for match in near)]),
        )


@pytest.mark.parametrize("sketch", SKETCHES, ids=repr)
def test_a_database_cuts_as_it_was_created_also_as_a_copy_and_a_loaded_dump(tmp_path, sketch):
    path, options = tmp_path / "db", simdb.Options(sketch=sketch)
    with simdb.open(path, options=options) as database:
        database.insert_many(range(len(TEXTS)), TEXTS)
        database.copy(tmp_path / "copy")
        database.dump(tmp_path / "dump")
    simdb.load(tmp_path / "dump", tmp_path / "loaded")

    expected = answers(path)

    _, found, similarity = expected
    assert found == [[at] for at in range(len(TEXTS))]
    # Few changes are found only if the script is cut.
    assert (similarity > 0.8) is (sketch.by_character == "spaceless")
    for other in (path, tmp_path / "copy", tmp_path / "loaded"):
        assert answers(other, options=options) == expected


def test_an_idf_table_of_another_choice_is_refused_also_from_a_file(tmp_path):
    old = simdb.fit_idf(TEXTS, simdb.Simhash(shingle=1, by_character="cjk"))
    simdb.save_idf(old, tmp_path / "cjk.idf")
    loaded = simdb.load_idf(tmp_path / "cjk.idf")
    sketch = simdb.Simhash(shingle=1, weighting="tf-idf")
    refused = pytest.raises(simdb.OptionError, match="by_character was 'cjk', not 'spaceless'")

    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=sketch)) as database, refused:
        database.set_idf(loaded)

    made = simdb.Simhash(shingle=1, weighting="tf-idf", idf=loaded)
    assert made.by_character == "cjk"
