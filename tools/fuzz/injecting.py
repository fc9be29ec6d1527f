"""Injecting: interrupts or kills a process where CPython checks for signals.

CPython checks for signals after a call, at the start of a function, where a generator continues and
where a loop jumps back.  `Injector` traces the frames of the library and counts these places.  At
the chosen place it makes a real SIGINT pending, and the interpreter delivers it as it would deliver
Ctrl-C.  Frames of contextlib count, too: one of the places is between the end of `__enter__` and
the body of a `with` statement.  CPython 3.11 or later has instructions for these places.
"""

import _thread
import contextlib
import dis
import os
import signal
import sys
from functools import cache

import simdb

LIBRARY = os.path.dirname(simdb.__file__) + os.sep
TRACED = (LIBRARY, contextlib.__file__)
NEVER = -1
CAN_INJECT = sys.version_info >= (3, 11)


class Interrupt(int):
    """A number whose attribute `now` makes SIGINT pending.

    It is an attribute because a signal is delivered after a call, which would be here.
    """

    now = property(_thread.interrupt_main)


SIGINT = Interrupt(signal.SIGINT)


class Injector:
    """An object that interrupts the main thread at place `chosen`, counted from 0.

    NEVER interrupts nowhere and only counts.  With `kills`, SIGKILL ends the process instead.
    `places` maps source lines to the numbers of the distinct places met there.
    """

    def __init__(self, chosen=NEVER, *, kills=False):
        self.chosen, self.kills = chosen, kills
        self.count, self.places = 0, {}

    def run(self, action):
        """Call `action`; return whether it ended with the interrupt."""
        # A program that a shell starts in the background ignores SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.settrace(self._enter)
        try:
            action()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    def draw(self, chance):
        """Draw a line, and one of its places: a line that ran often is drawn as any other."""
        where = chance.choice(list(self.places) or [""])
        return chance.choice(self.places.get(where, [NEVER])), where

    def _enter(self, frame, _event, _argument):
        if not frame.f_code.co_filename.startswith(TRACED):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if self._is_chosen(frame):
            sys.settrace(None)
            raise KeyboardInterrupt
        return self._step

    def _step(self, frame, event, _argument):
        is_place = event == "opcode" and frame.f_lasti in looks_for_signals(frame.f_code)
        if is_place and self._is_chosen(frame):
            sys.settrace(None)
            SIGINT.now  # noqa: B018 - no call may follow in this function
            return None
        return self._step

    def _is_chosen(self, frame):
        number, self.count = self.count, self.count + 1
        if self.chosen == NEVER:
            name = frame.f_code.co_filename.removeprefix(LIBRARY)
            where = f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
            self.places.setdefault(where, []).append(number)
        elif self.kills and number == self.chosen:
            os.kill(os.getpid(), signal.SIGKILL)
        return number == self.chosen


@cache
def looks_for_signals(code):
    """Return the offsets of instructions after which signals are checked."""
    return {
        each.offset
        for each in dis.get_instructions(code)
        if (each.opname.startswith("CALL") and not each.opname.startswith("CALL_INTRINSIC"))
        or each.opname == "JUMP_BACKWARD"
    }
