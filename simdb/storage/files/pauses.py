"""Pauses: the waits between tries for something that another thread or process has.

Every wait that can give up polls: neither `flock` nor a count of open transactions can be waited
for with a timeout.
"""

import time
from collections.abc import Iterator

FIRST_SECONDS = 0.0001


def pauses(timeout: float | None, *, longest_seconds: float) -> Iterator[bool]:
    """Sleep before each item, twice as long as before; end after `timeout` seconds.

    Each item is True, so that `next(pauses, False)` says whether to try again.  No sleep is longer
    than `longest_seconds`; None as the timeout never ends.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    seconds = FIRST_SECONDS
    while deadline is None or time.monotonic() < deadline:
        time.sleep(seconds)
        seconds = min(2 * seconds, longest_seconds)
        yield True
