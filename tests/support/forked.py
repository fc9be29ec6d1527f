"""Forked processes: runs programs in processes that have imported simdb already."""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from functools import cache
from threading import Event, Thread

# The program of one server process.  Its children run programs as a new interpreter would, but have
# imported simdb already.  For each child, a parent reports its start and its exit status.
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
        os.write(told, b"begun\\n")
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
        self.status = self._rest = None
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
        self._told.readline()  # the request is read, so another one may follow

    def rest(self):
        """Wait for the end; return the rest of standard output and of standard error.

        Then `status` is the exit status.
        """
        if self.status is None:
            self.stdin.close()
            self._rest = self.stdout.read(), self.stderr.read()
            self.status = int(self._told.readline())
            for each in (self.stdout, self.stderr, self._told):
                each.close()
        return self._rest


def run(code, *arguments):
    """Run a program to its end; return its exit status, standard output and standard error."""
    child = Child(code, *arguments)
    printed, complained = child.rest()
    return child.status, printed, complained


def run_until_killed(code, *arguments):
    """Run a program, which must end by SIGKILL."""
    status, _, complained = run(code, *arguments)
    assert status == -signal.SIGKILL, complained


def code_of_child(work, *, meanwhile):
    """Fork a child that calls `work` and return its exit code, or that of SIGKILL if it waits.

    `meanwhile` is called in another thread, with a function that returns when the child has ended.
    """
    is_busy, is_over = Event(), Event()

    def wait():
        is_busy.set()
        is_over.wait()

    other = Thread(target=meanwhile, args=(wait,))
    other.start()
    is_busy.wait()
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(20)
    child.kill()
    child.join()
    is_over.set()
    other.join()
    return child.exitcode


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
