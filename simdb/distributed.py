"""Distributed: the public address of the main job in parts for any engine: Ray, Dask, processes."""

from simdb.spark import distributed

__getattr__, __dir__, __all__ = distributed.__getattr__, distributed.__dir__, distributed.__all__
