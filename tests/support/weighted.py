"""Weighted: makes fingerprints of given weights; the bits are the signs of the first 64."""

import numpy as np

import simdb
from simdb.core import kernel
from simdb.core.vector_form import corrected, unpack


def fingerprints(weights):
    """Return a fingerprint for each row of weights."""
    return simdb.Fingerprints(bits_of(weights), weights.astype(np.float32))


def bits_of(weights):
    """Return the signs of the first 64 weights of each row: uint64[n]."""
    packed = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    return packed.view("<u8")[:, 0].astype(np.uint64)


def similarities_of(left, right):
    """Return the similarity of each row of `left` to the same row of `right`, as stored."""
    left, right = (unpack(kernel.quantise(each)[1]).astype(np.float32) for each in (left, right))
    norms = np.sqrt((left * left).sum(axis=1) * (right * right).sum(axis=1))
    return corrected((left * right).sum(axis=1) / norms)


def found_pairs(matches):
    """Return {(query, id)} of the matches of a batch."""
    queries = np.repeat(np.arange(len(matches)), np.diff(matches.offsets))
    return set(zip(queries.tolist(), matches.ids.tolist(), strict=True))
