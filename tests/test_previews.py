"""What objects show of themselves: a line or two, and small tables in notebooks."""

import numpy as np
import pytest
from over import over

import simdb

TEXT = " ".join(f"word{number}" for number in range(60))
NEAR = [f"{TEXT} tail{number}" for number in range(4)]
PAIRS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]


@pytest.fixture
def filled(database):
    database.insert_many(["a", "b", "c", "d"], NEAR)
    return database


def test_databases_and_transactions_show_what_they_are_and_how_many_documents_they_see(
    filled, monkeypatch
):
    with filled.read() as snapshot, filled.write() as transaction:
        transaction.delete("a")
        open_ones = [repr(each) for each in (filled, snapshot, transaction)]
        transaction.abort()

    assert open_ones == [
        f"<simdb.Database {filled.path!r}, mode 'c', 4 documents>",
        f"<simdb.Snapshot of {filled.path!r}, 4 documents>",
        f"<simdb.WriteTransaction on {filled.path!r}, 3 documents>",
    ]
    assert repr(snapshot) == f"<simdb.Snapshot of {filled.path!r}, closed>"
    assert repr(transaction) == f"<simdb.WriteTransaction on {filled.path!r}, ended>"
    assert filled._repr_html_().startswith("<p>simdb.Database &#x27;")
    filled.insert("e", "another text of a few words")
    assert "5 documents" in repr(filled)
    filled.close()
    assert repr(filled) == f"<simdb.Database {filled.path!r}, closed>"


def test_a_database_that_cannot_be_read_still_describes_itself(filled, monkeypatch):
    def refuse(self):
        raise simdb.CorruptError("page 7 is damaged")

    monkeypatch.setattr(simdb.Database, "__len__", refuse)

    assert repr(filled) == f"<simdb.Database {filled.path!r}, mode 'c'>"


def test_pairs_show_themselves_without_a_search_and_then_their_first_ids(filled):
    pairs, streamed = (filled.find_all(similarity=0.9) for _ in range(2))

    assert repr(pairs).startswith("<simdb.Pairs of similarity >= 0.9, method '")
    assert repr(pairs).endswith("', not read yet>")
    assert repr(filled.find_all(distance=2)).startswith("<simdb.Pairs of distance <= 2, method '")
    assert pairs._repr_html_().startswith("<p>simdb.Pairs of similarity &gt;= 0.9, method ")
    assert [(pair.left, pair.right) for pair in next(streamed.chunks())] == PAIRS
    assert repr(streamed).endswith("', streamed>")
    first, last, middle = pairs[0], pairs[-1], pairs[1:3]
    assert repr(pairs) == ("<simdb.Pairs: 6 pairs: ('a', 'b'), ('a', 'c'), ('a', 'd'), ...>")
    assert [(each.left, each.right) for each in (first, *middle, last)] == [*PAIRS[:3], PAIRS[-1]]
    assert first.similarity == float(pairs.similarity[0])
    assert repr(middle) == "<simdb.PairArrays: 2 pairs: ('a', 'c'), ('a', 'd')>"
    with pytest.raises(IndexError):
        pairs[6]
    assert "<td>c</td><td>d</td>" in pairs._repr_html_()


def test_matches_show_their_first_ids_and_can_be_sliced(filled, monkeypatch):
    matches = filled.query_many([NEAR[0], "something else", NEAR[1]], similarity=0.9)

    assert repr(matches) == "<simdb.Matches of 3 queries, 8 matches: 'a', 'b', 'c', ...>"
    assert matches[1:] == [matches[1], matches[2]]
    assert matches[::-1] == [matches[2], [], matches[0]]
    assert "<tr><td>2</td><td>b</td><td>0</td><td>1</td></tr>" in matches._repr_html_()
    # Many matches make no ids to show themselves.
    monkeypatch.setattr("simdb.core.matches.PREVIEWED_IDS", 3)
    matches = filled.query_many([NEAR[0]], similarity=0.9)
    assert repr(matches) == "<simdb.Matches of 1 query, 4 matches>"
    assert "<td>" not in matches._repr_html_()
    assert len(matches.ids) == 4
    assert repr(matches).startswith("<simdb.Matches of 1 query, 4 matches: 'a'")
    monkeypatch.setattr("simdb.core.matches.PREVIEWED_IDS", 4)
    assert "'a'" in repr(filled.query_many([NEAR[0]], similarity=0.9))


def test_clusters_show_representatives_and_sizes(filled):
    filled.insert_many(["x", "y"], ["entirely other words than in the rest"] * 2)
    clusters = filled.find_clusters(similarity=0.9)

    assert repr(clusters) == "<simdb.Clusters: 2 clusters of 6 documents: 'a', 'x'>"
    assert repr(clusters[0]) == "<simdb.Cluster of 4 documents: 'a', 'b', 'c', ...>"
    html = clusters._repr_html_()
    assert "<caption>2 clusters of 6 documents</caption>" in html
    assert "<tr><td>a</td><td>4</td><td>&#x27;b&#x27;, &#x27;c&#x27;, &#x27;d&#x27;</td>" in html


def test_markup_in_an_id_is_escaped_and_a_table_is_short(database):
    database.insert_many(["<script>alert(1)</script>", "x" * 1000, *range(198)], [NEAR[0]] * 200)
    pairs, clusters = database.find_all(), database.find_clusters()
    matches = database.query_many([NEAR[0]] * 50)

    assert len(pairs) == 200 * 199 // 2
    for each, rows in ((pairs, 11), (clusters, 2), (matches, 11)):
        html = each._repr_html_()
        assert html.count("<tr>") == rows
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "x" * 300 not in html
        assert len(html) < 4000
        assert len(repr(each)) < 300
    assert "19,900 pairs, the first 10<" in pairs._repr_html_()


def test_sketches_show_their_size_and_not_their_arrays():
    bits = np.array([1, 2, 3, 4], np.uint64)

    assert repr(simdb.Fingerprint(255)) == "<simdb.Fingerprint 0x00000000000000ff, no weights>"
    assert repr(simdb.Fingerprints(bits[:1])) == (
        "<simdb.Fingerprints: 1 fingerprint, no weights: 0x0000000000000001>"
    )
    assert repr(simdb.Fingerprints(bits)).endswith("0x0000000000000003, ...>")
    assert "128 weights>" in repr(simdb.fingerprint(TEXT))
    assert "of an empty document" in repr(simdb.fingerprint(""))
    assert repr(simdb.signatures([TEXT])) == "<simdb.Signatures: 1 signature of 128 minima>"
    assert repr(simdb.signature(TEXT)).startswith("<simdb.Signature of 128 minima: ")
    assert repr(simdb.signature("")).endswith(", of an empty document>")


@over(
    "options",
    [
        simdb.Options(),
        simdb.Options(polytopes=4, similarity=0.95, recall=0.9),
        simdb.Options(sketch=simdb.Simhash.moz()),
        simdb.Options(sketch=simdb.Simhash(by_character="cjk", stop_words=("a", "the"))),
        simdb.Options(sketch=simdb.Minhash(), bands=20, rows=5, keep_clusters="similarity"),
    ],
)
def test_options_show_the_call_that_makes_them(options):
    names = {name: getattr(simdb, name) for name in ("Options", "Simhash", "Minhash")}

    assert eval(repr(options), names) == options
    assert len(repr(options)) < 120


def test_reports_show_a_summary(filled):
    statistics, plan = filled.stats(), filled.plan(similarity=0.9)
    explanation = filled.explain("a", "b", similarity=0.9)
    features = simdb.open(None).explain(document="a b <c>", other_document="a b d")

    assert repr(statistics) == (
        f"<simdb.Statistics of {filled.path!r}: 4 documents, 0 deleted,"
        f" {statistics.file_bytes:,} bytes on disk, {len(statistics.runs)} runs,"
        f" {len(statistics.readers)} reader>"
    )
    html = statistics._repr_html_()
    assert "<tr><td>document_count</td><td>4</td></tr>" in html
    assert "<tr><td>map_bytes</td><td>1.1 TB, to which the file can grow</td></tr>" in html
    assert repr(plan).startswith(f"<simdb.Plan: method {plan.method!r}, similarity >= 0.9, recall ")
    assert plan._repr_html_().count("<tr>") == 1 + len(plan.considered)
    assert repr(explanation).startswith("<simdb.Explanation of 'a' and 'b': match, distance ")
    assert max(len(repr(each)) for each in (plan, explanation)) < 350
    assert explanation._repr_html_().startswith("<p>simdb.Explanation of ")
    html = features._repr_html_()
    assert html.startswith("<table><caption>simdb.Explanation of a document and a document")
    assert "<th>feature</th>" in html


def test_positions_show_their_number():
    bits = np.array([0, 1, 3, 0xFFFF << 40], np.uint64)
    pairs, clusters = simdb.find_all(bits, 4, 1), simdb.find_clusters(bits, 4, 1)

    assert repr(pairs) == "<simdb.ArrayPairs, not read yet>"
    assert len(pairs) == 2
    assert repr(pairs) == "<simdb.ArrayPairs: 2 pairs: (0, 1), (1, 2)>"
    assert repr(clusters) == "<simdb.ArrayClusters: 1 cluster of 3 positions>"


def test_a_result_of_deduplicate_shows_the_least_similar_rows_in_notebooks():
    words = " ".join(f"w{at}" for at in range(60))
    found = simdb.deduplicate([words, words, f"{words} <b>"], id=["a", "b", "<c>"])

    html = found._repr_html_()

    assert html.startswith("<table><caption>simdb.Deduplicated: 1 of 3 rows kept, 2 removed")
    assert html.index("&lt;c&gt;") < html.index("<td>b</td>")
    assert simdb.deduplicate(["a"])._repr_html_().startswith("<p>simdb.Deduplicated: 1 of 1 rows")
