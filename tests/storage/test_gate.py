"""Holders inside a gate, threads that are alone, and holders that an exception has lost."""

import gc
import threading

import pytest

import simdb
from simdb.storage.gate import Gate, Holder, Turn


@pytest.fixture
def gate(short_waits):
    return Gate("verbs of this thing", timeout=0.05)


def in_a_thread(action):
    found = []
    thread = threading.Thread(target=lambda: found.append(action()))
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    return found[0]


def refusal_of(action):
    try:
        action()
    except simdb.BusyError as error:
        return str(error)
    return None


def enter_alone(gate, **settings):
    with gate.alone("it is to be closed", **settings):
        pass


def test_a_thread_that_is_inside_is_refused_at_once(gate):
    holder = gate.enter(threading.get_ident())

    assert "this thread is in the middle of one" in refusal_of(lambda: enter_alone(gate))
    gate.leave(holder)


def test_another_thread_waits_outside_for_the_timeout(gate):
    with gate.alone("it is to be changed"):
        refusal = in_a_thread(lambda: refusal_of(gate.enter))

    assert "another thread is in the middle of one" in refusal
    in_a_thread(gate.enter)


def test_a_thread_that_is_inside_already_does_not_wait_for_who_waits_for_it(short_waits):
    gate = Gate("verbs of this thing")  # without a timeout it would wait for ever
    blocked, done = threading.Event(), threading.Event()

    def come_in_twice():
        first = gate.enter(threading.get_ident())
        blocked.wait(10)
        second = gate.enter(threading.get_ident())
        gate.leave(second)
        gate.leave(first)
        done.set()

    thread = threading.Thread(target=come_in_twice)
    thread.start()
    while gate.is_idle():
        pass
    waiting = threading.Thread(target=enter_alone, args=[gate])
    waiting.start()
    while not gate._is_blocked:
        pass
    blocked.set()

    assert done.wait(10)
    waiting.join(10)
    thread.join(10)
    assert gate.is_idle()


def test_a_holder_that_is_lost_is_not_inside_any_more(gate):
    holder = gate.enter()
    assert not gate.is_idle()

    del holder
    gc.collect()

    assert gate.is_idle()
    enter_alone(gate)


def test_a_block_that_an_exception_ends_lets_out_what_began_in_it(gate):
    outer = gate.enter(threading.get_ident())
    before = gate.inside()
    gate.enter(threading.get_ident())
    struck = gate.enter(threading.get_ident())

    gate.forgive(before)

    assert gate.inside() == {outer}
    del struck


def test_being_alone_that_an_exception_left_behind_is_forgiven_once(gate):
    left = gate.alone("it is to be changed")
    left.__enter__()

    gate.forgive(set())
    with gate.alone("it is to be closed"):
        del left
        gc.collect()
        refusal = in_a_thread(lambda: refusal_of(gate.enter))

    assert "another thread" in refusal


def test_a_turn_is_given_back_by_its_owner_only():
    turn, first, second = Turn(), Holder(), Holder()
    turn.take(first, None)

    turn.give_back(second)
    assert turn.owner is first
    turn.give_back(first)

    assert turn.take(second, 0)
