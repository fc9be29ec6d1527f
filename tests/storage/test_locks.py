"""A file lock is held alone or shared, and is free again when its file is closed."""

import os

import pytest

from simdb.core.errors import BusyError
from simdb.storage.files import FileLock, alone


@pytest.fixture
def two(tmp_path):
    """The same lock file opened twice, as by two processes."""
    locks = FileLock(str(tmp_path / "lock")), FileLock(str(tmp_path / "lock"))
    yield locks
    for lock in locks:
        lock.close()


def test_one_has_the_lock_and_another_gives_up_after_the_timeout(two):
    first, second = two
    first.take(None)

    with pytest.raises(BusyError, match=r"0.02 seconds.*timeout="):
        second.take(0.02)
    assert not second.try_take()

    first.release()
    second.take(0)


def test_sharing_is_for_many_and_being_alone_is_not(two):
    first, second = two
    first.share()
    second.share()

    with alone(first) as is_alone:
        assert not is_alone
    second.release()
    with alone(first) as is_alone:
        assert is_alone
        assert not second.try_take()
    second.share()


def test_closing_gives_the_lock_back_and_may_be_repeated(two):
    first, second = two
    first.take(None)

    first.close()
    first.close()

    assert second.try_take()


def test_a_lock_is_not_inherited_by_programs_that_are_started(two):
    assert not os.get_inheritable(two[0].descriptor)
