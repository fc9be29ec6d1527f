/* Sorting queries by the head of their key, so that neighbours read the same cache lines. */
#ifndef SIMDB_SEARCH_PARTITION_H
#define SIMDB_SEARCH_PARTITION_H

#include <stddef.h>
#include <stdint.h>

/* Order `keys` by their top 16 bits; numbers[i] is the former place of keys[i].
   Needs room for as many keys and numbers. */
void search_partition(uint64_t *keys, size_t count, uint32_t *numbers, uint64_t *spare_keys,
                      uint32_t *spare_numbers);

#endif
