"""Targets: what an output replaces is never lost before the output is complete."""

import errno
import os
import stat
from pathlib import Path

import pytest
from over import over

from simdb.core.errors import FullError
from simdb.files.formats import output_format
from simdb.files.outputs import side_files, written

HELD = b"what it held\n"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, content, *, is_sparing=False):
    """Write an output; return the name under which the file that it replaces is kept."""
    with written(path, output_format(path, "-o")) as target:
        target.is_sparing = is_sparing
        target.stream.write(content)
        target.rows = content.count(b"\n")
    return target.saved


def test_a_new_file_has_the_permissions_of_the_file_that_it_replaces():
    """A private source that its own output replaced could be read by everybody."""
    Path("a.jsonl").write_bytes(HELD)
    os.chmod("a.jsonl", 0o600)

    write("a.jsonl", b"new\n")

    assert stat.S_IMODE(os.stat("a.jsonl").st_mode) == 0o600
    assert Path("a.jsonl").read_bytes() == b"new\n"


@over(
    ("number", "message"),
    [
        (errno.ENOSPC, "no room on the disk of a.jsonl"),
        (errno.EIO, "the disk of a.jsonl, or that of temporary files, fails"),
        (errno.EXDEV, "a.jsonl cannot be written: Invalid cross-device link"),
    ],
)
def test_an_error_of_the_disk_names_the_output_and_leaves_it(number, message):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    Path("a.jsonl").write_bytes(HELD)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(FullError, match=message):
            write("a.jsonl", b"new\n")

    assert Path("a.jsonl").read_bytes() == HELD


def test_what_is_kept_already_is_never_replaced():
    """The second run lost what the first one had kept, which was nowhere else."""
    Path("a.jsonl").write_bytes(HELD)

    saved = [write("a.jsonl", b"%d\n" % at, is_sparing=True) for at in range(3)]

    assert saved == ["a.jsonl.before", "a.jsonl.before.2", "a.jsonl.before.3"]
    assert [Path(name).read_bytes() for name in saved] == [HELD, b"0\n", b"1\n"]
    assert {os.path.realpath(name) for name in saved} < set(side_files(os.path.realpath("a.jsonl")))


def test_equal_content_is_kept_once():
    for content in (HELD, b"", HELD, b""):
        write("a.jsonl", content)

    assert sorted(os.listdir()) == ["a.jsonl", "a.jsonl.before"]
    assert Path("a.jsonl.before").read_bytes() == HELD


@pytest.mark.parametrize("has_links", [True, False])
def test_a_run_that_ends_while_it_replaces_a_file_leaves_its_content(has_links, monkeypatch):
    def ended(source, target):
        if source.endswith(".partial"):
            raise KeyboardInterrupt
        replace(source, target)

    def refused(source, target):
        raise OSError(1, "Operation not permitted")

    replace = os.replace
    monkeypatch.setattr(os, "replace", ended)
    if not has_links:
        monkeypatch.setattr(os, "link", refused)
    Path("a.jsonl").write_bytes(HELD)

    with pytest.raises(KeyboardInterrupt):
        write("a.jsonl", b"new\n", is_sparing=True)

    assert os.listdir() == ["a.jsonl"]
    assert Path("a.jsonl").read_bytes() == HELD


def test_what_replaces_its_source_is_on_the_disk_before(monkeypatch):
    order = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: order.append("synced"))
    monkeypatch.setattr(os, "replace", lambda source, target: order.append("replaced"))
    Path("a.jsonl").write_bytes(HELD)

    with written("a.jsonl", output_format("a.jsonl", "-o")) as target:
        target.rows, target.is_source = 1, True

    assert order == ["synced", "replaced"]


def test_the_name_of_what_a_link_led_to_is_told():
    os.mkdir("sub")
    Path("sub/a.jsonl").write_bytes(HELD)
    os.symlink("sub/a.jsonl", "link.jsonl")

    saved = write("link.jsonl", b"new\n", is_sparing=True)

    assert Path(saved).read_bytes() == HELD
    assert os.path.islink("link.jsonl")
    assert Path("sub/a.jsonl").read_bytes() == b"new\n"
