"""Fingerprints of given weights, as a sketch has them: their bits are the signs of the first 64."""

import numpy as np

import simdb


def fingerprints(weights):
    """Return the fingerprints whose weights these are: one in each row."""
    return simdb.Fingerprints(bits_of(weights), weights.astype(np.float32))


def bits_of(weights):
    """Return the signs of the first 64 weights of each row: uint64[n]."""
    packed = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    return packed.view("<u8")[:, 0].astype(np.uint64)
