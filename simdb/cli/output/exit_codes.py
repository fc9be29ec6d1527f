"""Exit codes: the numbers with which commands end."""

import signal

FINDINGS = 1  # duplicates, problems, or input that was skipped
WRONG_USE = 2
DATABASE_ERROR = 3
# A shell reports a program that a signal ended with 128 + the number of the signal.
INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + signal.SIGPIPE
TERMINATED = 128 + signal.SIGTERM
