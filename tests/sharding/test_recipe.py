"""The recipe for sharded databases in docs/site/reference/sharded.md runs as it is written."""

import re
from pathlib import Path

import simdb

PAGE = Path(__file__).parents[2] / "docs" / "site" / "reference" / "sharded.md"


def test_the_recipe_for_sharded_databases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall("```python\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)

    names = {}
    for block in blocks:
        exec(block, names)

    for path in ("pages.shards", "job.shards"):
        with simdb.open_sharded(path) as database:
            assert (len(database), database.shard_count) == (1000, 4)
            found = database.query("the text of page 3-7, which is hardly that of another page")
            assert found[0].id == "page 3-7"
    assert len(blocks) == 2
