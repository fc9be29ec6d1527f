"""Targets: lists every harness by name, with the inputs from which it starts."""

import columns  # noqa: F401
import decoding  # noqa: F401
import reading  # noqa: F401
import whole  # noqa: F401
from taking import TARGETS

__all__ = ["TARGETS"]
