# One signature in the tables of all bands, for `_search.pyx`.

def lookup_bands(bands, keys, size_t most):
    """Return the ordinals uint32[n] of documents with one of these keys, one key in each band."""
    cdef list tables = list(bands)
    cdef Views views = Views(2)
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
        all_tables[i] = &each.tables
    found.ranks = spare + most
    found.queries = <uint32_t *> (found.ranks + most)
    ordinals = found.queries + most
    found.capacity = most
    search_bands(all_tables, all_keys, count, &found)
    if found.count > most:
        return None
    count = search_distinct(&found, spare, ordinals)
    result = np.empty(count, np.uint32)
    memcpy(views.output(result, UINT32, 4), ordinals, 4 * count)
    return result
