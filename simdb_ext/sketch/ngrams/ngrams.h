/* n-grams: the runs of n consecutive words of documents, and which of them are in a table. */

#ifndef SIMDB_NGRAMS_H
#define SIMDB_NGRAMS_H

#include <stdint.h>

/* A longer run would rotate two of its words alike. */
#define NGRAMS_MOST 32

/* The table of some n-grams.  `hashes` ascend; those with the number v in their highest bits, which
   are left by a shift by `shift`, begin at directory[v], and end at directory[v + 1].  `filter` has
   last_word + 1 words, a power of two, and the bits of every hash (`ngrams_filter`). */
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

/* Write the hashes of the n-grams of `count` words, those of shingles if n > 1.  Return
   how many there are: count - n + 1, or none.  n is at most NGRAMS_MOST. */
int64_t ngrams_hash(const uint64_t *words, int64_t count, int n, uint64_t *hashes);

/* Set the bits of some hashes in a filter of last_word + 1 words. */
void ngrams_filter(const uint64_t *hashes, int64_t count, uint64_t *filter, uint64_t last_word);

/* Find the n-grams of n = lengths[0 .. length_count - 1] words of each document; document d has
   words[offsets[d] .. offsets[d + 1] - 1].  Hits come by document, then by length as given, then by
   position.  The first `room` are written; return how many there are. */
int64_t ngrams_find(const struct ngram_table *table, const uint64_t *words,
                    const int64_t *offsets, int64_t documents, const int32_t *lengths,
                    int length_count, struct ngram_hit *hits, int64_t room);

#endif
