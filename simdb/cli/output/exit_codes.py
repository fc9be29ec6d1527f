"""Exit codes: what a script learns from them."""

import signal

FINDINGS = 1  # duplicates, problems, documents that were not read
WRONG_USE = 2
DATABASE_ERROR = 3
# What a shell makes of the signals that mean the same.
INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + signal.SIGPIPE
TERMINATED = 128 + signal.SIGTERM
