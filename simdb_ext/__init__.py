"""Compiled kernels of simdb; `simdb.kernel` is the only module that imports them."""
