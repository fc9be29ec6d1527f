"""Command demo, on the files of the Python that runs the tests."""

from simdb.cli import demo


def test_the_demo_finds_groups_and_prints_its_times(simdb_run):
    ran = simdb_run("demo", "--limit", "300")

    assert ran.code == 0
    assert all(row["size"] == 1 + len(row["duplicates"]) for row in ran.rows)
    assert "read 300 files" in ran.notes
    assert "stored in a database" in ran.notes
    assert "one query among all files" in ran.notes


def test_files_of_the_library_are_read_once_with_short_names(tmp_path, monkeypatch):
    packages = tmp_path / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "lib" / "this.py").write_text("import that")
    (tmp_path / "lib" / "data.txt").write_text("no program")
    (packages / "that.py").write_text("import this")
    (packages / "bad.py").write_bytes(b"# caf\xe9")
    places = {"stdlib": str(tmp_path / "lib"), "purelib": str(packages)}
    monkeypatch.setattr(demo.sysconfig, "get_path", places.get)

    names = [record.id for record in demo.python_files()]

    assert names == ["stdlib/this.py", "site-packages/that.py"]
