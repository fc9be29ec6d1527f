"""Similarities of texts as users see them, given the cosine that a fingerprint estimates."""


def seen(cosine):
    """Return Jaccard's similarity of two sets of one size that have this cosine."""
    return cosine / (2 - cosine)
