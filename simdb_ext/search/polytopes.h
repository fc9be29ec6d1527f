/* Matches of packed vectors in the runs of all tables of cross-polytope keys.

   Queries are searched in groups.  Each step of a group requests the memory that the next step
   reads: headers, directories, keys, ordinals, vectors.  For thousands of queries, headers are
   looked up in the order of the tables; their near keys then wait until all headers of a query are
   looked up. */
#ifndef SIMDB_SEARCH_POLYTOPES_H
#define SIMDB_SEARCH_POLYTOPES_H

#include <stddef.h>
#include <stdint.h>

#include "found.h"
#include "vectors.h"

/* One run in one table. */
struct polytope_column {
    const uint64_t *keys;
    const uint32_t *ordinals;
    const uint32_t *directory; /* NULL for the delta */
    uint64_t count;
};

/* The width and window that all tables of a run share. */
struct polytope_run {
    unsigned width; /* bits of a header */
    uint64_t start, length; /* only buckets that begin at these directory entries are searched */
};

struct search_polytopes {
    const struct polytope_column *columns; /* run by run, table by table; then the delta */
    const struct polytope_run *runs;
    size_t table_count, run_count;
    size_t first_table; /* number of the first table; the tables before it are searched elsewhere */
    unsigned skipped;   /* upper bits of keys that are a code; 0 if keys are whole fingerprints */
    struct search_filter filter;
    struct search_vectors vectors;
};

/* Limits on the compared signs in which a candidate may differ from a query. */
struct polytope_limits {
    unsigned distance;       /* most differing signs, of the signs in keys of runs */
    unsigned delta_distance; /* most differing signs, of all in a fingerprint of the delta */
    float flipped;           /* share of the weights of the query behind the signs that keys of
                                runs hold, by absolute value; 1: no limit */
};

struct polytope_request {
    const uint8_t *queries; /* packed vectors */
    size_t count;
    const uint32_t *after;   /* NULL: any ordinal */
    const uint32_t *members; /* the ordinal of each query, which does not match itself; NULL: the
                                queries are not documents */
    uint32_t *parents;       /* of a forest over ordinals, see root.h; NULL: none */
    size_t parent_count;
    const float *thresholds; /* one for each run */
    float similarity;
    struct polytope_limits all, firm; /* for queries with all signs compared; for queries with
                                         signs that are not firm, which are ignored */
    uint8_t enough;          /* matches after which the search of a query may stop; 0: all */
    struct search_best *best; /* receives the matches of the only query; NULL: all are found */
};

/* Return the bytes of scratch memory that one search at a time needs.  The memory is aligned to 64
   bytes, and zeroed before the first search. */
size_t search_polytopes_scratch(void);

/* Find the matches of all queries; a match may be found twice.  With a forest, documents in the
   component of the query are omitted, and paths in the forest become shorter.  Return whether all
   candidates have vectors; otherwise `missing` is an ordinal without one. */
int search_polytopes(const struct search_polytopes *tables, const struct polytope_request *request,
                     void *scratch, struct search_found *found, uint32_t *missing);

/* Drop repeated matches from sorted ranks, and adjust the ends of the queries, offsets[1] ..
   offsets[count], which are counted from offsets[0].  With `first`, keep only the best match of
   each query.  Return the number of matches left. */
size_t search_drop_repeated(uint64_t *ranks, size_t count, int64_t *offsets, int first);

/* Write the distances of the fingerprints of queries and of their matches, all of which have
   vectors. */
void search_vector_distances(const struct search_vectors *vectors, const uint8_t *queries,
                             size_t count, const int64_t *offsets, const uint32_t *ordinals,
                             uint8_t *distances);

#endif
