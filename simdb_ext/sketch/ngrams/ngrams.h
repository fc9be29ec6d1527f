/* n-grams: n consecutive words of documents, and which of them are in a table. */

#ifndef SIMDB_NGRAMS_H
#define SIMDB_NGRAMS_H

#include <stdint.h>

/* In a longer n-gram, two words would be rotated by the same number of bits. */
#define NGRAMS_MOST 32

/* A table of n-grams.  `hashes` ascend.  Hashes whose highest bits, left by a shift by `shift`, are
   v lie from directory[v] to directory[v + 1].  `filter` has last_word + 1 words, a power of two,
   and the bits of all hashes (`ngrams_filter`). */
struct ngram_table {
    const uint64_t *hashes;
    const uint32_t *directory;
    const uint64_t *filter;
    uint64_t last_word;
    int shift;
};

/* An n-gram of a document that is in the table: its first word, and its place in the table. */
struct ngram_hit {
    int32_t document;
    int32_t position;
    uint32_t entry;
};

/* Write the hashes of the n-grams of `count` words; for n > 1 they are hashes of shingles.  Return
   their number, count - n + 1 or 0.  n is at most NGRAMS_MOST. */
int64_t ngrams_hash(const uint64_t *words, int64_t count, int n, uint64_t *hashes);

/* Set the bits of some hashes in a filter of last_word + 1 words. */
void ngrams_filter(const uint64_t *hashes, int64_t count, uint64_t *filter, uint64_t last_word);

/* Find the n-grams of n = lengths[0 .. length_count - 1] words of each document; document d has
   words[offsets[d] .. offsets[d + 1] - 1].  Hits are in the order of document, length as given,
   position.  The first `room` hits are written; return the number of all. */
int64_t ngrams_find(const struct ngram_table *table, const uint64_t *words,
                    const int64_t *offsets, int64_t documents, const int32_t *lengths,
                    int length_count, struct ngram_hit *hits, int64_t room);

#endif
