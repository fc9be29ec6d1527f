"""Times of documents: kept if the options say so, renewed by claims, and used by expire."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest

import simdb
from simdb.database.state import staged
from simdb.storage import layout
from simdb.storage.layout import TIME_ORDINALS

FAR = 2**60 - 1


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self):
        self.now = 1_000_000_000.5


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(staged, "time", lambda: clock.now)
    return clock


@pytest.fixture(params=["inserted", "seen"])
def keep(request):
    return request.param


def at(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc)


def opened(tmp_path, keep, **settings):
    options = simdb.Options(keep_times=keep, delta_documents=4, growth=2, **settings)
    return simdb.open(tmp_path / "db", options=options, durability="none")


def test_only_kept_claims_and_replacements_renew_the_time(tmp_path, clock, keep):
    with opened(tmp_path, keep) as database:
        database.insert_many([*"abcdef"], [0, FAR, 3 << 30, 3 << 40, 3 << 20, 3 << 10])
        clock.now += 100
        database.add_if_new("near a", 1, distance=1)
        database.add_many_if_new(
            ["near b", "new", "near new"], [FAR - 1, 3 << 50, 3 << 50], distance=1
        )
        database.add_if_new("c", 3 << 30, distance=1)
        database.insert("d", 3 << 40, on_conflict="replace")
        database.query(3 << 20, distance=0)
        database.insert("e", 3 << 20, on_conflict="skip")
        database.update_metadata("e", "changed")
        with database.write() as transaction, pytest.raises(simdb.ExistsError):
            transaction.add_many_if_new([*"xf"], [3 << 10, 7 << 20], distance=0)

        renewed = ["a", "b", "c", "new", "d"] if keep == "seen" else ["new", "d"]
        assert database.expire(at(clock.now + 0.4)) == 8 - 1 - len(renewed)
        assert list(database) == renewed
        assert database.expire(at(clock.now + 0.5)) == len(renewed)


def test_a_claim_while_the_clock_is_slow_makes_no_document_older(tmp_path, clock):
    # A machine that begins in 1970 took documents back to that year, and they expired.
    with opened(tmp_path, "seen") as database:
        database.insert_many(["a", "b"], [0, FAR])
        inserted = clock.now
        clock.now = 100.0
        with database.write() as transaction:
            transaction.add_if_new("near a", 1, distance=1)
            told = transaction.times_many(["a"])
        database.add_if_new("near b", FAR - 1, distance=1)

        assert told.tolist() == database.times_many(["a"]).tolist()
        assert database.expire(at(int(inserted))) == 0
        assert database.expire(at(inserted + 1)) == 2


def test_times_survive_compaction_copy_dump_and_rebuild(tmp_path, clock):
    # More documents than one chunk of times has, some of them deleted.
    count = 3 * TIME_ORDINALS + 7
    with opened(tmp_path, "inserted", similarity=0.9) as database:
        expected = {}
        for first in range(0, count, 500):
            ids = range(first, min(first + 500, count))
            database.insert_many(ids, np.arange(ids.start, ids.stop, dtype=np.uint64))
            expected |= dict.fromkeys(ids, int(clock.now))
            clock.now += 10
        database.delete_many(range(0, count, 7))
        expected = {id: seconds for id, seconds in expected.items() if id % 7}
        assert times(database) == expected
        database.copy(tmp_path / "copy")
        database.dump(tmp_path / "dump")
        clock.now += 1000
        simdb.load(tmp_path / "dump", tmp_path / "loaded")

        database.compact()
        assert times(database) == expected
        assert list(database.check(deep=True)) == []
        database.rebuild()
        assert times(database) == expected
        assert list(database.check(deep=True)) == []
    for name in ("copy", "loaded", "db"):
        with simdb.open(tmp_path / name) as other:
            assert times(other) == expected
            assert list(other.check(deep=True)) == []
            assert other.expire(at(1_000_000_010)) == sum(id < 500 for id in expected)


def times(database):
    with database._store.state() as state:
        ordinals = state.live()
        return dict(zip(database, state.times()[ordinals].tolist(), strict=True))


def test_a_database_without_times_says_what_to_do(database):
    database.insert("a", 1)

    for verb, given in [(database.expire, datetime.now()), (database.times_many, ["a"])]:
        with pytest.raises(simdb.OptionError, match=r"keeps no times .*\(keep_times='inserted"):
            verb(given)
    with pytest.raises(simdb.OptionError, match="keep_times must be one of"):
        simdb.Options(keep_times="all")
    assert database.stats().oldest_time is database.stats().newest_time is None
    assert layout.TIMES not in database._store.environment.handles
    assert "keep_times" not in database.stats().options


def test_documents_older_than_an_age_expire(tmp_path, clock):
    found = {}
    for older_than in (
        timedelta(seconds=59), timedelta(minutes=1), timedelta(0), "59s", "1m", "1h", "0d", "1w",
        "9" * 99 + "w", timedelta.max,
    ):  # fmt: skip
        with opened(tmp_path / str(len(found)), "inserted") as database:
            for id, age in [("b", 120), ("c", 60), ("d", 0)]:
                clock.now -= age
                database.insert(id, 1)
                clock.now += age
            found[older_than] = (database.expire(older_than=older_than), "".join(database))

    assert list(found.values()) == [
        (2, "d"), (1, "cd"), (2, "d"), (2, "d"), (1, "cd"), (0, "bcd"), (2, "d"), (0, "bcd"),
        (0, "bcd"), (0, "bcd"),
    ]  # fmt: skip


def test_an_age_that_is_none_deletes_nothing(tmp_path, clock):
    with opened(tmp_path, "inserted") as database:
        database.insert("a", 1)
        clock.now += 1000

        for older_than in (30, 30.0, "", "30", "30D", "-1d", "1d2h", timedelta(seconds=-1)):
            with pytest.raises(simdb.InputError, match=r"older_than must be .* such as 30d, got"):
                database.expire(older_than=older_than)
        for given in ({}, {"before": at(0), "older_than": "1d"}):
            with pytest.raises(simdb.OptionError, match="needs one of before= and older_than="):
                database.expire(**given)
        assert list(database) == ["a"]


def test_any_datetime_is_taken_and_nothing_else(tmp_path, clock):
    with opened(tmp_path, "seen") as database:
        database.insert("a", 1)

        for before in (5, 1e9, "2024-01-01", date(2024, 1, 1), timedelta(1)):
            with pytest.raises(simdb.InputError, match="before must be a datetime"):
                database.expire(before)
        assert database.expire(datetime(1, 1, 1, tzinfo=timezone.utc)) == 0
        assert database.expire(at(clock.now).astimezone(timezone(timedelta(hours=5)))) == 0
        assert database.expire(datetime.fromtimestamp(clock.now)) == 0
        assert database.expire(datetime.max.replace(tzinfo=timezone.utc)) == 1


@pytest.fixture
def damaged(tmp_path, clock):
    """A database whose second chunk of times a test can change or remove."""
    with opened(tmp_path, "inserted") as database:
        database.insert_many(range(1000), range(1000), ["m"] * 1000)
    return tmp_path / "db"


def put_chunk(path, number, value):
    with simdb.open(path) as database:
        environment = database._store.environment
        handle = environment.subdatabase(layout.TIMES)
        key = layout.number_key(number)
        environment.write(
            lambda writer: (
                writer.put(key, value, db=handle)
                if value is not None
                else writer.delete(key, db=handle)
            )
        )


def advice_on_times(database):
    return [each.message for each in database.advice() if each.topic == "times"]


def test_times_ahead_of_the_clock_and_missing_ones_are_told(damaged, clock):
    with simdb.open(damaged) as database:
        assert advice_on_times(database) == []
        clock.now -= 2 * 86_400
        assert advice_on_times(database) == [
            "1000 documents have times that lie more than a day ahead of the clock"
        ]
        clock.now += 2 * 86_400
    put_chunk(damaged, 1, None)
    with simdb.open(damaged) as database:
        database.rebuild(drop_damaged=True)

        assert advice_on_times(database) == ["480 documents have no time"]


@pytest.mark.parametrize("value", [None, b"damaged"])
def test_damaged_times_stop_expiry_and_are_rebuilt_without_losing_documents(damaged, value, clock):
    put_chunk(damaged, 1, value)

    with simdb.open(damaged) as database:
        (finding, *_) = database.check(deep=True)
        assert finding.place == "times"
        if value is not None:
            with pytest.raises(simdb.CorruptError):
                database.expire(at(clock.now + 100))
            assert len(database) == 1000
        with pytest.raises(simdb.CorruptError, match=r"documents of 480 \.\. 960 lose their times"):
            database.rebuild()
        done = database.rebuild(drop_damaged=True)
        assert (done.document_count, done.dropped) == (1000, ())
        assert list(database.check(deep=True)) == []
        assert database.expire(at(clock.now + 100)) == 520
        assert list(database) == list(range(480, 960))


def test_a_chunk_beyond_the_last_ordinal_is_found(damaged):
    with simdb.open(damaged) as database:
        handle = database._store.environment.subdatabase(layout.TIMES)
        with database._store.environment.reading() as transaction:
            value = bytes(transaction.get(layout.number_key(0), db=handle))
    put_chunk(damaged, 9, value)

    with simdb.open(damaged) as database:
        assert any(each.place == "times" for each in database.check(deep=True))


def test_the_time_of_a_document_is_told(tmp_path, clock, keep):
    with opened(tmp_path, keep) as database:
        assert database.stats().newest_time is None
        first, later = int(clock.now), int(clock.now) + 100
        database.insert_many(range(6), range(6))
        clock.now += 100
        database.insert("late", 2**63)
        database.add_if_new("again", 3, distance=0)
        with database.write() as transaction:
            transaction.insert("staged", 2**62)

            seen = transaction.times_many([3, "late", 0, "staged"])

        renewed = later if keep == "seen" else first
        expected = [renewed, later, first, later]
        assert seen.dtype == "datetime64[s]"
        assert seen.astype(int).tolist() == expected
        assert database.times_many([3, "late", 0, "staged"]).astype(int).tolist() == expected
        with database.read() as snapshot:
            assert snapshot.times_many([]).tolist() == []
        with pytest.raises(simdb.NotFoundError, match="'none'"):
            database.times_many(["late", "none"])
        numbers = database.stats()
        assert (numbers.oldest_time, numbers.newest_time) == (at(first), at(later))
        database.delete_many([0, 1, 2, 4, 5, "staged"])
        assert database.stats().oldest_time == at(renewed)
