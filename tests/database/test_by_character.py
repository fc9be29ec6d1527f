"""A database goes on cutting scripts as it was created, whatever is done with it."""

import io

import pytest
from script_oracle import made_text, with_changes

import simdb

TEXTS = [made_text(script, 60, seed) for script in ("thai", "burmese") for seed in range(6)]
SKETCHES = [
    kind(by_character=by_character)
    for kind in (simdb.Simhash, simdb.Minhash)
    for by_character in ("spaceless", "cjk")
]


@pytest.fixture(params=SKETCHES, ids=lambda sketch: f"{type(sketch).__name__} {sketch.cutting}")
def path(request, tmp_path):
    """Return the path of a closed database with the texts."""
    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=request.param)) as database:
        database.insert_many(range(len(TEXTS)), TEXTS)
    return tmp_path / "db"


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


def test_the_same_options_open_it_as_it_is(path):
    expected = answers(path)
    sketch, found, _ = expected

    wanted = type(sketch)(by_character=sketch.by_character)

    assert answers(path, options=simdb.Options(sketch=wanted)) == expected
    assert found == [[at] for at in range(len(TEXTS))]


@pytest.mark.parametrize("kind", [simdb.Simhash, simdb.Minhash])
def test_the_other_choice_is_refused_by_name(tmp_path, kind):
    answers(tmp_path / "db", options=simdb.Options(sketch=kind()))

    with pytest.raises(simdb.OptionError, match="by_character is 'spaceless', not 'cjk'"):
        answers(tmp_path / "db", options=simdb.Options(sketch=kind(by_character="cjk")))


@pytest.mark.few(1)
def test_a_copy_and_a_loaded_dump_go_on_alike(path, tmp_path):
    expected, stream = answers(path), io.BytesIO()
    with simdb.open(path, "r") as database:
        database.copy(tmp_path / "copy")
        database.dump(stream)
    simdb.load(io.BytesIO(stream.getvalue()), tmp_path / "loaded")

    assert answers(tmp_path / "copy") == expected
    assert answers(tmp_path / "loaded") == expected


def test_few_changes_are_found_only_if_the_script_is_cut(path):
    sketch, _, similarity = answers(path)

    assert (similarity > 0.8) is (sketch.by_character == "spaceless")


def test_an_idf_table_of_another_choice_is_refused(tmp_path):
    old = simdb.fit_idf(TEXTS, simdb.Simhash(shingle=1, by_character="cjk"))
    sketch = simdb.Simhash(shingle=1, weighting="tf-idf")
    refused = pytest.raises(simdb.OptionError, match="by_character was 'cjk', not 'spaceless'")

    with simdb.open(tmp_path / "db", options=simdb.Options(sketch=sketch)) as database, refused:
        database.set_idf(old)


def test_an_idf_file_keeps_the_choice(tmp_path):
    for by_character in ("spaceless", "cjk"):
        sketch = simdb.Simhash(shingle=1, by_character=by_character)
        simdb.save_idf(simdb.fit_idf(TEXTS, sketch), tmp_path / f"{by_character}.idf")

        loaded = simdb.load_idf(tmp_path / f"{by_character}.idf")

        made = simdb.Simhash(shingle=1, weighting="tf-idf", idf=loaded)
        assert made.by_character == by_character
