"""Stepping: makes searches for the nearest documents take every step that their tables allow."""

from simdb.database.search import nearest
from simdb.plan import nearest as planning


def all_steps(monkeypatch):
    """Make every possible step worth taking, by the pilots of a batch and by the others."""
    monkeypatch.setattr(planning, "doubling", lambda possible, *costs: list(possible))
    monkeypatch.setattr(nearest, "worthwhile", lambda costs, *others: range(len(costs)))
    monkeypatch.setattr(nearest, "PILOTS", 3)
    monkeypatch.setattr(nearest, "BATCH_LEAST", 10)
