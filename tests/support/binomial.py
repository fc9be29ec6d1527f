"""Binomial: computes the chance that a search with a given recall finds so few matches."""

import math


def chance_of(found, count, recall):
    """Return P(X <= found) for X binomial of `count` trials."""
    return math.fsum(
        math.exp(
            math.lgamma(count + 1)
            - math.lgamma(each + 1)
            - math.lgamma(count - each + 1)
            + each * math.log(recall)
            + (count - each) * math.log1p(-recall)
        )
        for each in range(found + 1)
    )
