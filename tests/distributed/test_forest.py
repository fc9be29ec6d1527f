"""Forests of links between any ids are connected components, however they come."""

import numpy as np
import pytest
from over import over

import simdb
from simdb.spark.distributed import LinkForest, components, forest, stars


def walked(links):
    """Find components by walking from each id: {id: least id of its component}."""
    neighbours = {}
    for left, right in links:
        neighbours.setdefault(left, set()).add(right)
        neighbours.setdefault(right, set()).add(left)
    least = {}
    for start in sorted(neighbours):
        waiting = [start] if start not in least else []
        while waiting:
            at = waiting.pop()
            if at not in least:
                least[at] = start
                waiting += neighbours[at]
    return least


def as_dict(found):
    """Make a dict of ids and representatives."""
    return dict(zip(found[0].tolist(), found[1].tolist(), strict=True))


def some_links(seed, count, ids):
    generator = np.random.default_rng(seed)
    names = generator.integers(-(2**63), 2**63, ids, np.int64)
    return names[generator.integers(0, ids, count)], names[generator.integers(0, ids, count)]


@over(("count", "ids"), [(0, 1), (1, 1), (30, 60), (200, 40)])
def test_components_are_those_of_a_walk(count, ids):
    left, right = some_links(1, count, ids)

    assert as_dict(components(left, right)) == walked(
        zip(left.tolist(), right.tolist(), strict=True)
    )


def test_a_forest_grows_by_pieces_and_by_other_forests(monkeypatch):
    monkeypatch.setattr(forest, "PENDING_LEAST", 4)
    left, right = some_links(2, 90, 120)
    one, other = LinkForest(), LinkForest()
    for start in range(0, 90, 7):
        which = one if start % 2 else other
        which.join(left[start : start + 7], right[start : start + 7])

    one.merge(other)

    assert as_dict(one.components()) == walked(zip(left.tolist(), right.tolist(), strict=True))
    links = one.links()
    assert len(links[0]) < len(one.components()[0])
    assert as_dict(components(*links)).keys() <= as_dict(one.components()).keys()
    assert set(as_dict(components(*links)).items()) <= set(as_dict(one.components()).items())


@over(
    "bad",
    [
        [1, 2],
        np.array([1.5]),
        np.array([[1]]),
        np.array(["a"]),
        np.array([2**64 - 1]),
        np.arange(2),
    ],
)
def test_ids_are_checked(bad):
    with pytest.raises(simdb.InputError, match="left"):
        components(bad, np.array([1]))


def starred(pairs, place):
    """Assign stars by a double loop: {id: representative}."""
    matches = {frozenset(pair) for pair in pairs}
    order = sorted({each for pair in pairs for each in pair}, key=place)
    owners, leaders = {}, []
    for each in order:
        owner = next((one for one in leaders if frozenset((one, each)) in matches), each)
        owners[each] = owner
        if owner == each:
            leaders.append(each)
    return owners


@over("seed", range(4))
@over("by_place", [False, True])
def test_stars_are_those_of_a_double_loop(seed, by_place):
    generator = np.random.default_rng(seed)
    left = generator.integers(-20, 20, 60)
    right = generator.integers(-20, 20, 60)
    left, right = left[left != right], right[left != right]
    places = {each: float(generator.random()) for each in range(-20, 20)}
    given = None
    if by_place:
        given = np.array([[places[a], places[b]] for a, b in zip(left, right, strict=True)])

    found = as_dict(stars(left, right, given))

    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    assert found == starred(pairs, places.get if by_place else lambda each: each)


def test_an_id_has_one_place():
    with pytest.raises(simdb.InputError, match="two different places"):
        stars(np.array([1, 1]), np.array([2, 3]), np.array([[1, 2], [5, 3]]))
    with pytest.raises(simdb.InputError, match="shape"):
        stars(np.array([1, 1]), np.array([2, 3]), np.array([1, 2]))


def test_no_pairs_make_no_stars():
    nothing = np.empty(0, np.int64)
    assert [each.tolist() for each in stars(nothing, nothing)] == [[], []]
