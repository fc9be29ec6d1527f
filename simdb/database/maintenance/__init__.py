"""Maintenance: the verbs that inspect, repair, shrink, copy and calibrate a database.

Its modules are cold: each is loaded when it is first used, see `simdb.core.cold`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
