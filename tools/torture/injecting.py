"""Injecting: an interrupt or a kill at any place where CPython checks for signals.

Signals are looked for after a call, at the start of a function, where a generator goes on and where
a loop jumps back.  `Injector` follows the frames of the library by tracing and counts these places;
at the chosen one a real SIGINT is pending, so that the interpreter itself delivers it where Ctrl-C
would have been delivered.  Frames of contextlib count, too: an interrupt between the end of
`__enter__` and the body of a `with` statement is one of the places.
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


class Interrupt(int):
    """`now` makes SIGINT pending by an attribute, since after a call it would be delivered here."""

    now = property(_thread.interrupt_main)


SIGINT = Interrupt(signal.SIGINT)


class Injector:
    """Interrupts the main thread at place `chosen`, counted from 0; NEVER only counts.

    With `kills` the process is ended there by SIGKILL instead.
    `places` are the different places met: number to where it is; `where` tells the chosen one.
    """

    def __init__(self, chosen=NEVER, *, kills=False):
        self.chosen = chosen
        self.kills = kills
        self.count = 0
        self.where = ""
        self.places = {}
        self._is_doubled = False

    def run(self, action):
        """Call `action`; returns whether the interrupt came out of it."""
        # A shell that starts a program in the background lets it ignore SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.settrace(self._enter)
        try:
            action()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    def _enter(self, frame, _event, _argument):
        if not frame.f_code.co_filename.startswith(TRACED):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if self._is_doubled and self.places:
            self.places.popitem()  # what is pending before the call is delivered here
        self._is_doubled = False
        if self._is_chosen(frame):
            sys.settrace(None)
            raise KeyboardInterrupt
        return self._step

    def _step(self, frame, event, _argument):
        if event != "opcode":
            return self._step
        kind = looks_for_signals(frame.f_code).get(frame.f_lasti)
        self._is_doubled = False
        if kind is not None:
            if self._is_chosen(frame):
                sys.settrace(None)
                SIGINT.now  # noqa: B018 - no call may follow in this function
                return None
            self._is_doubled = kind == "call"
        return self._step

    def _is_chosen(self, frame):
        number, self.count = self.count, self.count + 1
        if self.chosen not in (NEVER, number):
            return False
        name = frame.f_code.co_filename.removeprefix(LIBRARY)
        self.where = f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
        self.places[number] = self.where
        if self.kills and number == self.chosen:
            os.kill(os.getpid(), signal.SIGKILL)
        return number == self.chosen


@cache
def looks_for_signals(code):
    """{offset: "call" or "jump"} of the instructions after which signals are looked for."""
    kinds = {}
    for each in dis.get_instructions(code):
        if each.opname.startswith("CALL") and not each.opname.startswith("CALL_INTRINSIC"):
            kinds[each.offset] = "call"
        elif each.opname == "JUMP_BACKWARD":
            kinds[each.offset] = "jump"
    return kinds
