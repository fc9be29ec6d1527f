from over import over

from simdb.plan.compaction import (
    PACE,
    are_put_off,
    begun_from,
    first_within,
    grouped,
    merged_at_once,
    merged_from,
    merged_most,
    steps_due,
)


@over(
    ("counts", "new", "growth", "start"),
    [
        ([5], 1, 2, 0),
        ([9, 5], 1, 2, 0),
        ([19, 9, 5], 1, 2, 0),
        ([100, 5, 5, 5], 3, 2, 1),
        ([0, 0, 0], 1, 2, 2),
        ([7, 0, 0], 2, 8, 1),
    ],
)
def test_neighbours_that_are_not_much_larger_are_merged(counts, new, growth, start):
    assert merged_from(counts, new, growth) == start


@over(
    ("counts", "growth", "start"),
    [
        ([], 2, 0),
        ([10, 5], 2, 2),
        ([9, 5], 2, 0),
        ([100, 9, 5], 2, 1),
        ([100, 10, 5, 2, 1, 1], 2, 1),
        ([100, 40, 5, 1, 1], 2, 3),
        ([0, 0], 2, 2),
    ],
)
def test_a_merge_begins_where_sizes_do_not_grow_enough(counts, growth, start):
    assert begun_from(counts, growth) == start


@over(
    ("lengths", "most", "start"),
    [([], 5, 0), ([3, 2], 5, 0), ([3, 2], 4, 1), ([9], 4, 1), ([1, 9, 1], 4, 2)],
)
def test_runs_are_taken_from_the_end_as_far_as_they_fit(lengths, most, start):
    assert first_within(lengths, most) == start


@over(
    ("inserted", "memory_bytes", "most"),
    [
        (0, 1 << 40, 1 << 23),
        (1 << 19, 1 << 40, 1 << 24),
        (1 << 20, 1 << 40, 1 << 25),
        (1 << 30, 1 << 40, 1 << 25),
        (1 << 20, (1 << 24) * 4 * 27, 1 << 24),
        (1 << 20, 1, 1 << 23),
    ],
)
def test_a_merge_beside_large_transactions_may_be_longer(inserted, memory_bytes, most):
    assert merged_most(inserted, memory_bytes) == most


@over(
    ("delta_documents", "new", "width", "most"),
    [
        (4, 500, 0, 1000),
        (4096, 5000, 0, 131_072),
        (4096, 5000, 512, 32_768),
        (1 << 20, 5000, 64, 131_072),
    ],
)
def test_what_is_merged_at_once_is_a_number_of_deltas_or_twice_what_is_new(
    delta_documents, new, width, most
):
    assert merged_at_once(delta_documents, new, width) == most


@over(("inserted", "due"), [(0, 0), (1, 0), (2, 1), (10, 5), (19, 9), (20, 10), (5000, 10)])
def test_the_steps_of_a_merge_are_due_in_proportion_to_the_documents_inserted(inserted, due):
    assert steps_due([1] * 10, 20 * PACE, inserted) == due


@over(("inserted", "due"), [(4, 0), (5, 1), (14, 1), (15, 2), (19, 2), (20, 3)])
def test_a_step_that_costs_more_is_due_later(inserted, due):
    assert steps_due([5, 10, 5], 20 * PACE, inserted) == due
    assert steps_due([1] * 10, 5, inserted) == 10  # all of a small merge


def test_neighbours_are_one_group_as_long_as_they_are_short_enough_together():
    assert grouped([3, 1, 2, 9, 1], 3) == [[0], [1, 2], [3], [4]]
    assert grouped([], 3) == []


@over(
    ("steps", "inserted", "is_put_off"),
    [(0, 1, False), (1, 1, True), (1, 2048, True), (1, 2049, False), (2, 1, False)],
)
def test_a_commit_that_seals_a_run_puts_off_one_step_if_the_next_one_seals_none(
    steps, inserted, is_put_off
):
    assert are_put_off(steps, inserted, 4096) == is_put_off
