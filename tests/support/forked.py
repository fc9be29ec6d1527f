"""Forked processes: children that have the modules of the tests already, and kill themselves."""

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from functools import cache


def run_until_killed(code, *arguments):
    """Run a program in a forked process, which must end by SIGKILL."""
    child = os.fork()
    if not child:
        try:
            sys.argv[1:] = map(str, arguments)
            exec(compile(code, "child", "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


# Run by one process for all: its children run programs, as a new interpreter would, but have simdb
# already.  Of each, a parent tells the number and how it has ended.
SERVER = """
import json, os, signal, socket, sys
import numpy, simdb
simdb.open(None).close()
link = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    message, places, *_ = socket.recv_fds(link, 1 << 20, 4)
    if not message:
        os._exit(0)
    while not message.endswith(b"\\n"):
        message += link.recv(1 << 20)
    if os.fork():
        for place in places:
            os.close(place)
        continue
    link.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told = places.pop()
    child = os.fork()
    if child:
        for place in (0, 1, 2, *places):
            os.close(place)
        os.write(told, b"%d\\n" % child)
        os.write(told, b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os._exit(0)
    os.close(told)
    break
for number, place in enumerate(places):
    os.dup2(place, number)
    os.close(place)
sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
request = json.loads(message)
os.chdir(request["directory"])
sys.argv[1:] = request["arguments"]
exec(compile(request["code"], "child", "exec"), {"__name__": "__main__"})
"""


class Child:
    """A program of Python in a process of its own; `stdin`, `stdout` and `stderr` are its pipes."""

    def __init__(self, code, *arguments):
        """Start the program; its warnings are not shown."""
        self._status = self._rest = None
        request = {"code": code, "arguments": [*map(str, arguments)], "directory": os.getcwd()}
        asked, self.stdin = _pipe()
        self.stdout, printed = _pipe()
        self.stderr, warned = _pipe()
        self._told, told = _pipe()
        places = [asked, printed, warned, told]
        socket.send_fds(
            _server(), [json.dumps(request).encode() + b"\n"], [each.fileno() for each in places]
        )
        for each in places:
            each.close()
        self.pid = int(self._told.readline())

    def rest(self):
        """Return what is left of what the program prints and complains, and wait for its end."""
        if self._rest is None:
            self.stdin.close()
            self._rest = self.stdout.read(), self.stderr.read()
            self.wait()
        return self._rest

    def wait(self):
        """Wait for the end of the program, close its pipes, and return its exit status."""
        if self._status is None:
            self._status = int(self._told.readline())
            for each in (self.stdin, self.stdout, self.stderr, self._told):
                each.close()
        return self._status


def run(code, *arguments):
    """Run a program to its end; return its exit status, and what it printed and complained."""
    child = Child(code, *arguments)
    printed, complained = child.rest()
    return child.wait(), printed, complained


def _pipe():
    reading, writing = os.pipe()
    return open(reading), open(writing, "w", buffering=1)


@cache
def _server():
    link, other = socket.socketpair()
    with other:
        command = [sys.executable, "-W", "ignore", "-c", SERVER, str(other.fileno())]
        subprocess.Popen(command, pass_fds=[other.fileno()])
    return link
