"""Every entry point of the main job keeps the same documents, and those that a double loop keeps.

With recall=1.0 the search compares every pair whose estimated similarity is not far below the
threshold, and the texts decide; so all agree with a double loop over sets of shingles, unless
an estimate errs by more than three standard deviations, as one of a thousand does.  The examples
are always the same ones, so a run either always passes or shows one that differs.
"""

import csv
import json
from itertools import count

import pytest
from click.testing import CliRunner
from families import connected, order_of, survivors, texts
from hypothesis import example, given, settings, strategies as st

import simdb
from simdb.cli.app import app
from simdb.compat.crawl import Crawl, Page

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
datasets = pytest.importorskip("datasets")

# The tests that take long draw some of the examples of the profile.
SOME = settings(max_examples=max(settings.default.max_examples // 4, 1))
KEEPS = st.sampled_from(["first", "last", "longest", "shortest"])
NULLS = st.sampled_from(["keep", "drop"])
PORTIONS = (
    "simdb.jobs.deduplication.claims.CLAIMED_ROWS",
    "simdb.jobs.deduplication.within.PART_ROWS",
    "simdb.jobs.deduplication.alike.COMMIT_DOCUMENTS",
    "simdb.cli.options.intake.BATCH_DOCUMENTS",
    "simdb.jobs.deduplication.claims.STORED_DOCUMENTS",
)


def chain():
    """Return texts of which each is like the next one, and like no other."""
    words = [f"w{at}" for at in range(41)]
    found = [" ".join(words)]
    for step in range(6):
        words[3 + 6 * step] = f"new{step}"
        found.append(" ".join(words))
    return found


def rows_of(given):
    return [{"id": f"id {at}", "text": text} for at, text in enumerate(given)]


def arrow_of(given):
    parts = [pyarrow.table({"text": pyarrow.array(some, "string")}) for some in halves(given)]
    return pyarrow.concat_tables(parts)


def halves(given):
    return [given[: len(given) // 2], given[len(given) // 2 :]]


# From texts to data of some kind, as `simdb.deduplicate` takes them.
KINDS = {
    "list": lambda given: given,
    "dicts": lambda given: iter(rows_of(given)),
    "pandas": lambda given: pandas.DataFrame({"text": given}),
    "polars": lambda given: polars.DataFrame({"text": polars.Series(given, dtype=polars.String)}),
    "arrow": arrow_of,
    "datasets": lambda given: datasets.Dataset(arrow_of(given)),
}


def write_json_lines(path, given):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(given)))


def write_parquet(path, given):
    columns = {"id": [row["id"] for row in rows_of(given)], "text": pyarrow.array(given, "string")}
    parquet.write_table(pyarrow.table(columns), path)


def write_csv(path, given):
    """Write texts as CSV, which has an empty text in place of a null."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, ["id", "text"])
        table.writeheader()
        table.writerows(rows_of(given))


FILES = {"jsonl": write_json_lines, "parquet": write_parquet, "csv": write_csv}


def command(folder, ending, *words):
    """Run dedup over the file a.ENDING in a folder; return the ids of the rows that stay."""
    run(folder, f"a.{ending}", "-o", "kept.jsonl", *words)
    return [json.loads(line)["id"] for line in (folder / "kept.jsonl").read_text().splitlines()]


def preview(folder, ending, *words):
    """Run dedup as `command` does, without survivors; return the ids of the duplicates."""
    groups = map(json.loads, run(folder, f"a.{ending}", "--json", *words).splitlines())
    return {each["id"] for group in groups for each in group["duplicates"]}


def run(folder, *words):
    """Run dedup in a folder; return what it prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ran = CliRunner().invoke(app, ["dedup", *words, "--recall", "1.0"], catch_exceptions=False)
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout


def named(kept):
    return [f"id {at}" for at, stays in enumerate(kept) if stays]


@pytest.fixture(scope="module")
def new_folder(tmp_path_factory):
    """Return a function that makes an empty folder."""
    numbers = count()
    return lambda: tmp_path_factory.mktemp(f"entry{next(numbers)}")


@given(given=texts(), keep=KEEPS, on_null=NULLS)
@example(given=chain(), keep="first", on_null="keep")
@example(given=[], keep="first", on_null="keep")
@SOME
def test_data_of_every_kind_keep_what_a_double_loop_keeps(given, keep, on_null):
    wanted = survivors(given, order_of(given, keep), on_null)

    found = {
        (name, threads): simdb.deduplicate(
            make(given), keep=keep, on_null=on_null, recall=1.0, threads=threads
        ).kept.tolist()
        for name, make in KINDS.items()
        for threads in (1, 3)
    }  # fmt: skip

    assert found == dict.fromkeys(found, wanted)


@given(given=texts(), keep=KEEPS, on_null=NULLS, size=st.integers(1, 9))
@example(given=chain(), keep="first", on_null="keep", size=1)
@SOME
def test_a_database_keeps_what_a_double_loop_keeps_whatever_the_portions(
    new_folder, given, keep, on_null, size
):
    wanted = survivors(given, order_of(given, keep), on_null)
    folder = new_folder()

    def kept(name, threads, **settings):
        return simdb.deduplicate(
            rows_of(given), db=folder / name, keep=keep, on_null=on_null, recall=1.0,
            threads=threads, **settings,
        ).kept.tolist()  # fmt: skip

    with pytest.MonkeyPatch.context() as patch:
        found = [kept("one", 1, id="id"), kept("two", 3)]
        for name in PORTIONS:
            patch.setattr(name, size)
        found += [kept("small", 3, id="id"), kept("one", 3, id="id"), kept("two", 1)]
        found.append(simdb.deduplicate(given, keep=keep, on_null=on_null, recall=1.0).kept.tolist())

    assert found == [wanted] * len(found)


@given(
    given=texts(), keep=KEEPS, on_null=NULLS, size=st.integers(1, 9),
    ending=st.sampled_from(sorted(FILES)),
)  # fmt: skip
@example(given=chain(), keep="first", on_null="keep", size=9, ending="jsonl")
@example(given=[*chain(), None, ""], keep="last", on_null="keep", size=2, ending="csv")
@example(given=[*chain(), None, ""], keep="first", on_null="keep", size=2, ending="parquet")
@SOME
def test_the_command_line_keeps_what_a_double_loop_keeps(
    new_folder, given, keep, on_null, size, ending
):
    given = ["" if text is None and ending == "csv" else text for text in given]
    wanted = named(survivors(given, order_of(given, keep), on_null))
    folder = new_folder()
    FILES[ending](folder / f"a.{ending}", given)
    words = ["--keep", keep, "--on-null", on_null]

    found = [command(folder, ending, *words, "--db", "db")]
    removed = preview(folder, ending, *words)
    with pytest.MonkeyPatch.context() as patch:
        for name in PORTIONS:
            patch.setattr(name, size)
        patch.setenv("SIMDB_THREADS", "3")
        found += [command(folder, ending, *words, *more) for more in ([], ["--db", "db"])]

    assert found == [wanted] * 3
    texts_of_ids = {row["id"]: row["text"] for row in rows_of(given)}
    stays = {id for id, text in texts_of_ids.items() if on_null == "keep" or text is not None}
    assert stays - removed == set(wanted)


@given(
    given=texts(), reference=texts(), keep=KEEPS, on_null=NULLS,
    ending=st.sampled_from(sorted(FILES)),
)  # fmt: skip
@example(given=chain(), reference=chain()[1:3], keep="first", on_null="keep", ending="jsonl")
@example(given=["", None], reference=["", None, "!?"], keep="last", on_null="drop", ending="csv")
@SOME
def test_all_entry_points_keep_what_a_double_loop_keeps_against_a_reference(
    new_folder, given, reference, keep, on_null, ending
):
    if ending == "csv":
        given, reference = ([text or "" for text in each] for each in (given, reference))
    wanted = survivors(given, order_of(given, keep), on_null, reference)
    folder = new_folder()
    FILES[ending](folder / f"a.{ending}", given)
    FILES[ending](folder / f"b.{ending}", reference)
    made = [make(given) for make in KINDS.values()]
    others = [*(make(reference) for make in KINDS.values()), folder / f"b.{ending}"]

    found = [
        simdb.deduplicate(data, against=against, keep=keep, on_null=on_null, recall=1.0)
        for data, against in zip([*made, folder / f"a.{ending}"], reversed(others), strict=True)
    ]

    assert [each.kept.tolist() for each in found] == [wanted] * len(found)
    words = ["--keep", keep, "--on-null", on_null, "--against", f"b.{ending}"]
    assert command(folder, ending, *words) == named(wanted)


@given(given=texts(), keep=KEEPS, on_null=NULLS, ending=st.sampled_from(sorted(FILES)))
@example(given=[*chain(), None, "", None], keep="first", on_null="drop", ending="jsonl")
@example(given=[None, None], keep="first", on_null="drop", ending="jsonl")
@SOME
def test_files_keep_what_a_double_loop_keeps(new_folder, given, keep, on_null, ending):
    given = ["" if text is None and ending == "csv" else text for text in given]
    wanted = survivors(given, order_of(given, keep), on_null)
    folder = new_folder()
    FILES[ending](folder / f"a.{ending}", given)

    found = [
        simdb.deduplicate(
            folder / f"a.{ending}", keep=keep, on_null=on_null, recall=1.0, db=db, threads=threads
        )
        for db, threads in [(None, 1), (None, 3), (folder / "db", 3), (folder / "db", 1)]
    ]

    assert [each.kept.tolist() for each in found] == [wanted] * 4
    assert [each.null_count for each in found] == [given.count(None)] * 4


@given(given=texts(), keep=KEEPS, ending=st.sampled_from(sorted(FILES)))
@example(given=chain(), keep="first", ending="jsonl")
@example(given=[*chain(), None, "", *chain()[::-1]], keep="longest", ending="csv")
@SOME
def test_all_entry_points_keep_one_of_each_connected_group(new_folder, given, keep, ending):
    given = ["" if text is None and ending == "csv" else text for text in given]
    wanted = connected(given, order_of(given, keep))
    folder = new_folder()
    FILES[ending](folder / f"a.{ending}", given)

    found = [
        simdb.deduplicate(data, keep=keep, policy="connected", recall=1.0, threads=threads)
        for data in (given, arrow_of(given), folder / f"a.{ending}")
        for threads in (1, 3)
    ]

    assert [each.kept.tolist() for each in found] == [wanted] * len(found)
    words = ["--keep", keep, "--policy", "connected", "--on-null", "keep"]
    assert command(folder, ending, *words) == named(wanted)


@given(given=texts())
@SOME
def test_crawls_and_claims_keep_what_estimates_keep(given):
    texts = [text for text in given if text is not None]
    rows = rows_of(texts)
    # A pair below the threshold by its texts and above it by its estimate need not be a candidate.
    every = simdb.Options(recall=1.0)
    with simdb.open(None, options=every) as db:
        pages = [Page(row["id"], row["text"]) for row in rows]
        crawled = [verdict.is_passed for verdict in Crawl(db).decide(pages)]
    with simdb.open(None, options=every) as db:
        claims = db.add_many_if_new([row["id"] for row in rows], texts)
        claimed = [not len(found) for found in claims]

    found = [
        simdb.deduplicate(rows, id="id", db=simdb.open(None), verify="estimate", recall=1.0),
        simdb.deduplicate(texts, verify="estimate", recall=1.0),
    ]

    assert crawled == claimed
    assert [each.kept.tolist() for each in found] == [claimed] * 2
