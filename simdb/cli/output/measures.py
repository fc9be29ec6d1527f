"""Measures: sizes and ages as people read them."""

import time

KILO = 1000
SIZES = ("bytes", "kB", "MB", "GB", "TB")
# The seconds of each unit, the longest first.
AGES = (
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
)


def size_in_words(size_bytes: float) -> str:
    """Return a size in the largest unit of which it has one: `4.1 MB`, `812 bytes`."""
    for unit in SIZES:
        if size_bytes < KILO or unit == SIZES[-1]:
            break
        size_bytes /= KILO
    return f"{size_bytes:,.0f} {unit}" if unit == SIZES[0] else f"{size_bytes:,.1f} {unit}"


def time_and_age(moment: float, now: float) -> str:
    """Return a moment, in seconds since 1970, as local time and its age: `(3 days ago)`."""
    shown = time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    return f"{shown} ({age_in_words(now - moment)})"


def age_in_words(seconds: float) -> str:
    """Return how long ago something was, in the largest unit of which it has one."""
    for size, unit in AGES:
        count = int(seconds / size)
        if count >= 1:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
