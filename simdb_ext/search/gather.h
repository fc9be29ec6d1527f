/* Probes of many queries, gathered so that those for the same part of a table follow each other.

   Each query asks for headers all over a table.  One query after another, they read a table that
   is larger than the caches again and again; in the order of headers each part is read once. */
#ifndef SIMDB_SEARCH_GATHER_H
#define SIMDB_SEARCH_GATHER_H

#include <stddef.h>
#include <stdint.h>

enum {
    GATHERED_MAX = 1 << 18, /* probes that are put in order together */
    GATHER_BITS = 14        /* of their headers, by which they are */
};

/* A probe: its header << 32 | the number of its query. */
struct search_gathering {
    uint64_t *probes; /* room for GATHERED_MAX */
    uint64_t *sorted; /* likewise */
    size_t count;
};

/* Put the probes, whose headers have `width` bits, in the order of their leading bits: into
   `sorted`. */
void search_gather_sort(const struct search_gathering *gathering, unsigned width);

#endif
