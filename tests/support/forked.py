"""Forked processes: children that have the modules of the tests already, and kill themselves."""

import os
import signal
import sys
import traceback


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
