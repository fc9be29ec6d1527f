# Searching the tables, for `_search.pyx`.

cdef unsigned checked_distance(object distance, str name) except? 0:
    """Return `distance` if it is a number of bits from 0 to 64, else raise."""
    if not 0 <= distance <= 64:
        raise ValueError(f"{name} is {distance}, not from 0 to 64")
    return distance


cdef int take_flips_of_tables(object flips, int8_t *own, size_t count) except -1:
    """Write the flips of each table to `own`; return the largest of them."""
    cdef size_t table = 0
    cdef int most = 0
    if isinstance(flips, int):
        most = checked_distance(flips, "flips")
        for table in range(count):
            own[table] = <int8_t> most
        return most
    if <size_t> len(flips) != count:
        raise ValueError(f"flips are given for {len(flips)} tables, but there are {count}")
    for each in flips:
        if not -1 <= each <= 64:
            raise ValueError(f"flips of table {table} are {each}, not from -1 to 64")
        if table == count:
            raise ValueError(f"flips are given for more than {count} tables")
        own[table] = each
        most = max(most, own[table])
        table += 1
    return most


cdef int grow(search_found *found, void *memory) except -1:
    """Give `found` room for all its matches: `memory` has 20 bytes for each."""
    found.ranks = <uint64_t *> memory
    found.queries = <uint32_t *> (found.ranks + 2 * found.count)
    found.capacity = found.count
    return 0


cdef size_t segments_of(runs) except? 0:
    """Return the number of segments of fingerprints in the tables of headers of `runs`."""
    return sum([len(table[4]) for run in runs for table in run if len(table) > 3])


cdef uint32_t segment_bits_of(arrays) except? 0:
    """Return log2 of the length of all arrays but the last.

    Raises ValueError unless it is a power of two.
    """
    cdef uint64_t length = 1 << 32 if len(arrays) < 2 else len(arrays[0])
    if length == 0 or length & (length - 1) != 0:
        raise ValueError(f"segments have {length} entries, not a power of two")
    return <uint32_t> (length.bit_length() - 1)


cdef list sorted_rows(search_found *found):
    """Return (ordinal, distance) of each match of one query, sorted."""
    cdef size_t i
    search_sort(found.ranks, found.ranks + found.capacity, found.count)
    return [
        (<uint32_t> found.ranks[i], <uint32_t> (found.ranks[i] >> 32))
        for i in range(found.count)
    ]


cdef class Tables:
    """The runs of all block permutations of one collection, prepared for lookup."""

    cdef Views views
    cdef Memory memory
    cdef search_tables tables
    cdef bint is_small
    cdef bint is_tagged  # whether there is a table of headers
    cdef Tables like

    def __cinit__(self, masks, runs, delta, dead, windows=None, Tables like=None):
        if like is None:
            self.take_runs(masks, runs, windows)
        else:
            self.like, self.memory, self.tables = like, like.memory, like.tables
            self.is_tagged = like.is_tagged
            self.views = Views(5)
        if delta is not None:
            self.take_delta(delta[0], delta[1])
        self.views.filter(dead, &self.tables.filter)
        self.is_small = self.tables.run_count * self.tables.table_count <= PROBES_HELD \
            and self.tables.delta.count < 8192

    def over(self, delta, dead):
        """Return tables of the same runs with another delta and other deleted documents."""
        return Tables(None, None, delta, dead, like=self if self.like is None else self.like)

    def leaving(self, dead):
        """Return tables of the same runs and delta with other deleted documents."""
        return Tables(None, None, None, dead, like=self)

    cdef int take_runs(self, masks, runs, windows) except -1:
        cdef size_t table_count = len(masks), run_count = len(runs), i = 0, table
        cdef uint64_t *own_masks
        cdef uint8_t *orders
        cdef search_column *columns
        cdef const uint64_t **segments
        cdef size_t segment_count = segments_of(runs)
        if table_count == 0:
            raise ValueError("masks is empty; it needs the mask of one table at least")
        self.memory = Memory(table_count * (72 + run_count * sizeof(search_column))
                             + segment_count * sizeof(void *))
        self.views = Views(3 * run_count * table_count + segment_count + 5)
        columns = <search_column *> self.memory.start
        segments = <const uint64_t **> (columns + run_count * table_count)
        own_masks = <uint64_t *> (segments + segment_count)
        orders = <uint8_t *> (own_masks + table_count)
        for table in range(table_count):
            own_masks[table] = masks[table]
            if own_masks[table] == 0:
                raise ValueError(f"the mask of table {table} is empty")
            search_prepare_order(orders + 64 * table, own_masks[table])
        if windows is not None and <size_t> len(windows) != run_count:
            raise ValueError(f"there are {len(windows)} windows but {run_count} runs")
        for number, run in enumerate(runs):
            window = (0, None) if windows is None else windows[number]
            if <size_t> len(run) != table_count:
                raise ValueError(f"run {number} has {len(run)} tables; it needs {table_count}")
            table = 0
            for given in run:
                columns[i].table = <uint32_t> table
                if len(given) > 3:
                    self.take_fingerprints(given[3], given[4], &columns[i], segments)
                    segments += len(given[4])
                self.take_column(given, &columns[i], own_masks[table], window)
                table += 1
                i += 1
        self.tables.masks = own_masks
        self.tables.orders = orders
        self.tables.table_count = table_count
        self.tables.columns = columns
        self.tables.run_count = run_count
        return 0

    cdef int take_fingerprints(self, object start, object arrays, search_column *column,
                               const uint64_t **segments) except -1:
        """Fill in where the fingerprints of a table of headers are."""
        cdef uint64_t length, whole
        cdef size_t i
        column.first, column.stored, column.segments = start, 0, segments
        column.segment_bits = segment_bits_of(arrays)
        whole = <uint64_t> 1 << column.segment_bits
        for i in range(<size_t> len(arrays)):
            if column.stored != i * whole:
                raise ValueError(f"segment {i - 1} is not the last, but has not {whole} entries")
            length = self.views.uint64(arrays[i], &segments[i])
            if length > whole:
                raise ValueError(f"segment {i} has {length} entries, over {whole}")
            column.stored += length
        self.is_tagged = True
        return 0

    cdef int take_column(self, object given, search_column *column, uint64_t mask,
                         tuple window) except -1:
        cdef uint64_t length
        cdef object keys = given[0], ordinals = given[1], directory = given[2]
        column.keys, column.tags = NULL, NULL
        if len(given) > 3:
            column.count = self.views.uint16(keys, &column.tags)
        else:
            column.count = self.views.uint64(keys, &column.keys)
        if <uint64_t> self.views.uint32(ordinals, &column.ordinals) != column.count:
            raise ValueError(f"there are {len(keys)} keys but {len(ordinals)} ordinals")
        length = self.views.uint32(directory, &column.directory)
        if length < 2 or (length - 1) & (length - 2) != 0 or length - 1 > <uint64_t> 1 << 32:
            raise ValueError(f"a directory has {length} entries, not a power of two plus 1")
        search_prepare_column(column, mask, length)
        start, stop = window
        if stop is None:
            search_prepare_window(column, 0, 0, length)
            return 0
        if not 0 <= start < stop < length:
            raise ValueError(f"window {start} .. {stop} is not in a directory of {length} entries")
        search_prepare_window(column, start, stop, length)
        return 0

    cdef int take_delta(self, object fingerprints, object ordinals) except -1:
        cdef search_column *column = &self.tables.delta
        column.count = self.views.uint64(fingerprints, &column.keys)
        if <uint64_t> self.views.uint32(ordinals, &column.ordinals) != column.count:
            found = f"{len(fingerprints)} fingerprints but {len(ordinals)} ordinals"
            raise ValueError(f"the delta has {found}")
        search_prepare_window(column, 0, 0, 1)
        return 0

    cdef int check_keys(self) except -1:
        """Raise ValueError if a table has no keys."""
        if self.is_tagged:
            raise ValueError("a table of headers has no keys; compare the fingerprints themselves")
        return 0

    def lookup(self, queries, *, distance, flips, uint8_t first, after):
        """Return stored fingerprints within `distance` that some table reaches; each match once."""
        return self.run(queries, distance, flips, first, after, None, False)

    def probe(self, queries, levels, *, costs, theta, cap, distance, bint first, after, tables,
              header_bits=None):
        """Return stored fingerprints within `distance` under headers likely for a similar one."""
        cdef Views views = Views(4)
        cdef search_request request
        cdef search_volatility volatility
        cdef search_probe_scratch scratch
        cdef const uint64_t *all_queries
        cdef const uint32_t *all_after
        cdef const uint8_t *all_levels
        cdef size_t total, start = 0, size, group, limits
        cdef Memory headers, ordered
        request.distance = checked_distance(distance, "distance")
        request.enough = 1
        total = views.uint64(queries, &all_queries)
        views.after(after, total, &all_after)
        all_levels = self.take_levels(views, levels, total)
        self.take_flips(&volatility, views.table(costs), theta, cap, tables, header_bits)
        group = min(total, <size_t> LOOKUP_QUERIES_MAX)
        limits = self.limits_of_each(&volatility, first)
        if group * limits > LIMITS_MAX:
            group = max(LIMITS_MAX // limits, <size_t> 1)
        scratch.sets_room = search_sets_room(volatility.flips.cap) + BLOCK_SETS
        memory = Memory(group * (9 + 2 * limits) + scratch.sets_room * 8)
        scratch.keys = <uint64_t *> memory.start
        scratch.sets = scratch.keys + group
        scratch.limits = <int16_t *> (scratch.sets + scratch.sets_room) if limits > 0 else NULL
        scratch.done = <uint8_t *> (scratch.sets + scratch.sets_room) if first else NULL
        headers = Memory(8 * limits)
        scratch.headers = <uint64_t *> headers.start
        scratch.gathered = NULL
        if not first and total >= GATHERED_QUERIES_MIN:
            ordered = Memory(16 * GATHERED_MAX)
            scratch.gathered = <uint64_t *> ordered.start
        matches = Matches(total, group, sizeof(uint8_t))
        matches.is_repeating = volatility.is_ordered and volatility.table_count > 1
        matches.is_first = first
        size = group
        while start < total:
            request.queries = all_queries + start
            request.after = all_after + start if all_after != NULL else NULL
            request.count = min(size, total - start)
            volatility.levels = all_levels + 64 * start
            with nogil:
                search_probe(&self.tables, &request, &volatility, &scratch, &matches.found)
            start += matches.keep(start, request.count)
            size = search_group_size(&matches.found, request.count, group)
        return matches.result()

    cdef const uint8_t *take_levels(self, Views views, object levels, size_t count) except? NULL:
        """Return the start of the levels of `count` queries."""
        cdef Py_buffer *view = views.take(levels, UINT8, 1, 2)
        if <size_t> view.shape[0] != count or view.shape[1] != 64:
            raise ValueError(
                f"levels have shape {view.shape[0]} x {view.shape[1]}, not {count} x 64"
            )
        return <const uint8_t *> view.buf

    cdef int take_flips(self, search_volatility *volatility, const uint8_t *costs, object theta,
                        object cap, object tables, object header_bits) except -1:
        """Fill in which bits of the queries may flip, and at what cost."""
        volatility.is_ordered = theta is None
        if theta is None:
            theta = SEARCH_THETA_MAX
        if theta < 0:
            raise ValueError(f"theta is {theta}, below 0")
        if not 1 <= cap <= SEARCH_CAP_MAX:
            raise ValueError(f"cap is {cap}, not from 1 to {SEARCH_CAP_MAX}")
        if tables is None:
            tables = self.tables.table_count
        if not 1 <= tables <= self.tables.table_count:
            raise ValueError(f"tables is {tables}, not from 1 to {self.tables.table_count}")
        volatility.flips.costs = costs
        volatility.flips.theta = min(theta, SEARCH_THETA_MAX)
        volatility.flips.cap = cap
        volatility.table_count = tables
        volatility.width = 64
        if header_bits is not None:
            if not 0 <= header_bits <= 64:
                raise ValueError(f"header_bits is {header_bits}, not from 0 to 64")
            volatility.width = header_bits
        return 0

    cdef size_t limits_of_each(self, const search_volatility *volatility, bint first):
        """Return the number of limits that a probe records for each query."""
        if first or volatility.table_count == 1 or volatility.is_ordered:
            return 0
        return self.tables.run_count * self.tables.table_count

    def probe_one(self, uint64_t query, levels, costs, theta, cap, unsigned distance, bint first,
                  tables=None, header_bits=None, Py_ssize_t most=PY_SSIZE_T_MAX):
        """Return (ordinal, distance) of each match of one query.  Fast to call."""
        cdef uint64_t key
        cdef uint8_t done
        cdef uint64_t sets[ONE_SETS]
        cdef int16_t limits[ONE_COLUMNS]
        cdef uint64_t headers[ONE_COLUMNS]
        cdef uint64_t ranks[ONE_ROOM * 2]
        cdef uint32_t numbers[ONE_ROOM]
        cdef search_found found
        cdef search_request request
        cdef search_volatility volatility
        cdef search_probe_scratch scratch
        cdef Bytes level_bytes = Bytes(levels, 64, "levels")
        cdef Bytes cost_bytes = Bytes(costs, 256, "costs")
        cdef Memory memory, room
        cdef size_t limit_count
        cdef int64_t ends[2]
        if distance > 64:
            raise ValueError(f"distance is {distance}, not from 0 to 64")
        self.take_flips(&volatility, cost_bytes.start, theta, cap, tables, header_bits)
        volatility.levels = level_bytes.start
        request.queries, request.count, request.after = &query, 1, NULL
        request.distance, request.enough = distance, 1
        found.queries, found.ranks, found.capacity = numbers, ranks, ONE_ROOM
        scratch.keys, scratch.done = &key, &done if first else NULL
        scratch.gathered = NULL
        scratch.sets_room = search_sets_room(volatility.flips.cap)
        scratch.sets, scratch.limits, scratch.headers = sets, limits, headers
        limit_count = self.limits_of_each(&volatility, first)
        if volatility.flips.cap > ONE_CAP or limit_count > ONE_COLUMNS:
            memory = Memory((scratch.sets_room + limit_count) * 8 + 2 * limit_count)
            scratch.sets = <uint64_t *> memory.start
            scratch.headers = scratch.sets + scratch.sets_room
            scratch.limits = <int16_t *> (scratch.headers + limit_count)
        if limit_count == 0:
            scratch.limits = NULL
        if self.is_small and volatility.flips.cap <= ONE_CAP:
            search_probe(&self.tables, &request, &volatility, &scratch, &found)
        else:
            with nogil:
                search_probe(&self.tables, &request, &volatility, &scratch, &found)
        if most < 0 or found.count > <size_t> most:
            return None
        if found.count > found.capacity:
            room = Memory(found.count * 20)
            grow(&found, room.start)
            with nogil:
                search_probe(&self.tables, &request, &volatility, &scratch, &found)
        if volatility.is_ordered and volatility.table_count > 1:
            search_sort(found.ranks, found.ranks + found.capacity, found.count)
            ends[0], ends[1] = 0, found.count
            found.count = search_drop_repeated(found.ranks, 1, ends, first)
        return sorted_rows(&found)

    def count_probes(self, levels, *, costs, theta, cap, tables, header_bits=None):
        """Return the number of headers that `probe` would look up for each query: int64[m]."""
        cdef Views views = Views(3)
        cdef search_volatility volatility
        cdef size_t count = len(levels)
        cdef Memory memory
        cdef int64_t *counts
        volatility.levels = self.take_levels(views, levels, count)
        self.take_flips(&volatility, views.table(costs), theta, cap, tables, header_bits)
        memory = Memory(search_sets_room(volatility.flips.cap) * 8)
        result = np.empty(count, np.int64)
        counts = <int64_t *> views.output(result, INT64, 8)
        with nogil:
            search_count_probes(&self.tables, &volatility, count, <uint64_t *> memory.start,
                                counts)
        return result

    def scan(self, queries, *, distance, uint8_t first, after, judging=None):
        """Return every stored fingerprint within `distance` of each query; all are compared."""
        self.check_keys()
        return self.run(queries, distance, 0, first, after, judging, True)

    def nearest(self, queries, k):
        """Return the `k` nearest stored fingerprints of each query; all are compared."""
        cdef Views views = Views(1)
        cdef const uint64_t *all_queries
        cdef size_t total = views.uint64(queries, &all_queries), start = 0, size, run
        cdef uint64_t stored = self.tables.delta.count
        cdef uint64_t *keys
        self.check_keys()
        for run in range(self.tables.run_count):
            stored += self.tables.columns[run * self.tables.table_count].count
        best = Best(total, most_of(k, stored), SCAN_QUERIES_MAX, sizeof(uint8_t))
        memory = Memory(best.group * 8)
        keys = <uint64_t *> memory.start
        while start < total:
            size = min(best.group, total - start)
            with nogil:
                search_nearest(&self.tables, all_queries + start, size, keys, best.best)
            best.keep(start, size)
            start += size
        return best.result()

    cdef tuple run(self, queries, distance, flips, uint8_t first, after, judging, bint is_scan):
        cdef Views views = Views(4)
        cdef search_request request
        cdef search_scratch scratch
        cdef const uint64_t *all_queries
        cdef const uint32_t *all_after
        cdef const uint64_t *all_counted
        cdef const uint8_t *all_most
        cdef size_t total, start = 0, size, group
        cdef Memory table_flips
        request.distance = checked_distance(distance, "distance")
        table_flips = Memory(self.tables.table_count)
        take_flips_of_tables(flips, <int8_t *> table_flips.start, self.tables.table_count)
        request.flips = <const int8_t *> table_flips.start
        request.enough = first
        total = views.uint64(queries, &all_queries)
        views.after(after, total, &all_after)
        views.judging(judging, total, &all_counted, &all_most)
        group = min(total, <size_t> (SCAN_QUERIES_MAX if is_scan else LOOKUP_QUERIES_MAX))
        memory = Memory(group * 21 + (<size_t> 4 << PARTITION_BITS))
        matches = Matches(total, group, sizeof(uint8_t))
        scratch.keys = <uint64_t *> memory.start
        scratch.sorted = scratch.keys + group
        scratch.numbers = <uint32_t *> (scratch.sorted + group)
        scratch.places = scratch.numbers + group
        scratch.done = NULL
        if first:
            scratch.done = <uint8_t *> (scratch.places + (<size_t> 1 << PARTITION_BITS))
        size = group
        while start < total:
            request.queries = all_queries + start
            request.after = all_after + start if all_after != NULL else NULL
            request.counted = all_counted + start if all_counted != NULL else NULL
            request.most = all_most + start if all_most != NULL else NULL
            request.count = min(size, total - start)
            with nogil:
                if is_scan:
                    search_scan(&self.tables, &request, &scratch, &matches.found)
                else:
                    search_lookup(&self.tables, &request, &scratch, &matches.found)
            start += matches.keep(start, request.count)
            size = search_group_size(&matches.found, request.count, group)
        return matches.result()

    def lookup_one(self, uint64_t query, unsigned distance, flips, uint8_t first,
                   Py_ssize_t most=PY_SSIZE_T_MAX, judging=None, dead=None):
        """Return (ordinal, distance) of each match of one query, sorted.  Fast to call."""
        cdef Views views = Views(5)
        cdef search_tables tables = self.tables
        cdef uint64_t key
        cdef uint8_t done
        cdef uint64_t ranks[ONE_ROOM * 2]
        cdef uint32_t numbers[ONE_ROOM]
        cdef search_found found
        cdef search_request request
        cdef search_scratch scratch
        cdef Memory memory, flip_memory
        cdef int8_t table_flips[ONE_TABLES]
        cdef int8_t *own = table_flips
        cdef int most_flips
        if distance > 64:
            raise ValueError(f"distance is {distance}, not from 0 to 64")
        if self.tables.table_count > ONE_TABLES:
            flip_memory = Memory(self.tables.table_count)
            own = <int8_t *> flip_memory.start
        most_flips = take_flips_of_tables(flips, own, self.tables.table_count)
        request.queries, request.count, request.after = &query, 1, NULL
        if dead is not None:
            views.filter(dead, &tables.filter)
        views.judging(judging, 1, &request.counted, &request.most)
        request.distance, request.flips, request.enough = distance, own, first
        found.queries, found.ranks, found.capacity = numbers, ranks, ONE_ROOM
        scratch.keys = &key
        scratch.done = &done if first else NULL
        if self.is_small and most_flips == 0:
            # Releasing the GIL would take as long as the lookup.
            search_lookup(&tables, &request, &scratch, &found)
        else:
            with nogil:
                search_lookup(&tables, &request, &scratch, &found)
        if most < 0 or found.count > <size_t> most:
            return None
        if found.count > found.capacity:
            memory = Memory(found.count * 20)
            grow(&found, memory.start)
            with nogil:
                search_lookup(&tables, &request, &scratch, &found)
        return sorted_rows(&found)


def lookup_bands(bands, keys, size_t most, dead=None):
    """Return the ordinals, ascending, of documents whose key in any band b is keys[b]."""
    cdef list tables = list(bands)
    cdef Views views = Views(5)
    cdef search_filter filter
    cdef const uint64_t *all_keys
    cdef size_t count = views.uint64(keys, &all_keys), i
    cdef Memory memory = Memory(len(tables) * sizeof(void *) + most * 24)
    cdef const search_tables **all_tables = <const search_tables **> memory.start
    cdef uint64_t *spare = <uint64_t *> (all_tables + len(tables))
    cdef uint32_t *ordinals
    cdef search_found found
    cdef Tables each
    if count != <size_t> len(tables):
        raise ValueError(f"there are {count} keys but {len(tables)} bands")
    for i in range(count):
        each = tables[i]
        each.check_keys()
        all_tables[i] = &each.tables
    found.ranks = spare + most
    found.queries = <uint32_t *> (found.ranks + most)
    ordinals = found.queries + most
    found.capacity = most
    views.filter(dead, &filter)
    search_bands(all_tables, all_keys, count, &filter, &found)
    if found.count > most:
        return None
    count = search_distinct(&found, spare, ordinals)
    result = np.empty(count, np.uint32)
    memcpy(views.output(result, UINT32, 4), ordinals, 4 * count)
    return result
