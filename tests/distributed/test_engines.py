"""The examples of docs/SPARK.md without Spark: processes, and DuckDB and Dask if installed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from copied_texts import copied_texts

import simdb

PAGE = Path(__file__).parents[2] / "docs" / "SPARK.md"


def section(heading):
    """Return the Python under a heading of the page."""
    text = PAGE.read_text().split(f"\n### {heading}\n")[1].split("\n### ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a function that imports sections of the page as a module that processes can import."""

    def load(*headings):
        name = "engines_page"
        code = "\n".join(section(each) for each in ("The two tasks", *headings))
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return __import__(name)

    return load


@pytest.fixture
def documents():
    texts = copied_texts(5, 300, words=600, length=150)
    return [3 * number + 7 for number in range(len(texts))], [*texts[:-1], ""]


def of_database(path, ids, texts):
    with simdb.open(path, "x") as database:
        database.insert_many(ids, texts)
        found = {
            id: cluster.representative
            for cluster in database.find_clusters(distance=6)
            for id in cluster.ids
        }
    assert len(found) > 50
    return found


def test_duckdb_finds_the_clusters_of_a_database(page, documents, tmp_path, monkeypatch):
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    ids, texts = documents
    path = tmp_path / "texts.parquet"
    parquet.write_table(arrow.table({"id": ids, "text": texts}), path)

    made = page("Processes of one machine", "DuckDB")
    found = made.clusters_of_query(f"select id, text from '{path}'", batch=100, distance=6)

    assert dict(zip(*map(np.ndarray.tolist, found), strict=True)) == of_database(
        tmp_path / "x", ids, texts
    )
