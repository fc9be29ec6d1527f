"""Plan: the choice of a search method with its reasons, and the keys of tables; pure functions.

Here are the planner, the arrangements of tables (BPHS, PSM, bands, polytopes) and the calibration.
`simdb.storage` and `simdb.database` read and write the tables.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
