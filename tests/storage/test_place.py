"""The file system type of a path is read from the table of mounts."""

import lmdb
import pytest

import simdb
from simdb.core.errors import OptionError
from simdb.storage import files

MOUNTS = """\
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
22 21 0:30 / {directory}/far rw shared:1 - nfs4 server:/export rw
23 22 0:31 / {directory}/far/near rw - tmpfs tmpfs rw
24 21 0:32 / {directory}/white\\040space rw - fuse.sshfs host: rw
"""


@pytest.fixture
def mounts(tmp_path, monkeypatch):
    """A list of mounts below the directory of the test."""
    (tmp_path / "mountinfo").write_text(MOUNTS.format(directory=tmp_path))
    monkeypatch.setattr(files, "MOUNTS", str(tmp_path / "mountinfo"))
    return tmp_path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("local", "ext4"),
        ("far/db", "nfs4"),
        ("farther", "ext4"),
        ("far/near/db", "tmpfs"),
        ("white space/db", "fuse.sshfs"),
    ],
)
def test_the_file_system_is_that_of_the_deepest_mount(mounts, path, kind):
    assert files.file_system(str(mounts / path)) == kind


@pytest.mark.parametrize("path", ["far/db", "white space/db"])
def test_a_network_file_system_is_refused_with_the_remedy(mounts, path):
    with pytest.raises(OptionError, match=r"network file system.*local disk"):
        files.prepare(str(mounts / path), "c")


def test_where_the_system_does_not_tell_the_place_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOUNTS", str(tmp_path / "none"))

    files.prepare(str(tmp_path / "db"), "c")

    assert (tmp_path / "db").is_dir()


def test_who_may_read_but_not_write_the_lock_file_is_told_which_and_what_to_do(
    tmp_path, monkeypatch
):
    # It came out as "cannot be written", of a database that was opened for reading.
    simdb.open(tmp_path / "db").close()

    def refused(*_, **__):
        raise lmdb.Error(f"{tmp_path / 'db'}: Permission denied")

    monkeypatch.setattr(lmdb, "open", refused)

    with pytest.raises(simdb.ForbiddenError, match=r"may not write .*lock\.mdb.*chmod go\+rw"):
        simdb.open(tmp_path / "db", "r")
