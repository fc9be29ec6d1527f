"""Maintenance: the verbs that inspect, repair, shrink, copy and calibrate a database.

Its modules are cold: each is loaded when it is first used, see `simdb.core.cold`.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = [
    "advice", "calibration", "compaction", "dump", "inspection", "merge", "rebuild",
    "rescue",
]  # fmt: skip

if TYPE_CHECKING:
    from simdb.database.maintenance import (
        advice,
        calibration,
        compaction,
        dump,
        inspection,
        merge,
        rebuild,
        rescue,
    )
else:
    __getattr__ = cold.modules(__name__, __all__)
