"""Plan: which method answers a question, which keys its tables have, and why; pure.

Here are the planner, the arrangements of tables (BPHS, PSM, bands, polytopes) and the calibration.
What reads or writes a table is in `simdb.storage` and `simdb.database`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
