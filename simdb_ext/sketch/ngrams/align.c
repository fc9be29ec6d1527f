#include "align.h"

#define CHANGES ((ALIGN_CHANGED + 1) * (ALIGN_CHANGED + 1))

/* The words of the document and of the item that each change skips, the smallest changes first. */
static const struct {
    int8_t document, item;
} CHANGE[CHANGES] = {
    {0, 0},
    {0, 1}, {1, 0}, {1, 1}, {0, 2}, {2, 0}, {1, 2}, {2, 1}, {2, 2},
    {0, 3}, {3, 0}, {1, 3}, {3, 1}, {2, 3}, {3, 2}, {3, 3},
};

/* Count the equal words that start at two positions, up to `most`. */
static inline int64_t count_equal(struct align_words document, struct align_words item,
                                  const struct align_bounds *within, int step, int64_t at,
                                  int64_t own, int64_t most)
{
    int64_t count = 0;

    for (; count < most; count++, at += step, own += step)
        if (at < within->document_start || at >= within->document_stop ||
            own < within->item_start || own >= within->item_stop ||
            document.words[at] != item.words[own])
            break;
    return count;
}

int align_next(struct align_words document, struct align_words item,
               const struct align_bounds *within, int step, int64_t *at, int64_t *own,
               struct align_run *run)
{
    for (int change = 0; change < CHANGES; change++) {
        int64_t first = *at + step * (1 + CHANGE[change].document);
        int64_t first_own = *own + step * (1 + CHANGE[change].item);
        int64_t least = change == 0 ? 1 : ALIGN_AGAIN;

        if (count_equal(document, item, within, step, first, first_own, least) < least)
            continue;
        run->length = count_equal(document, item, within, step, first, first_own, INT64_MAX);
        *at = first + step * (run->length - 1);
        *own = first_own + step * (run->length - 1);
        run->document = step > 0 ? first : *at;
        run->item = step > 0 ? first_own : *own;
        return 1;
    }
    return 0;
}

static int holds(const struct align_passage *passage, struct align_run run)
{
    return passage->document_start <= run.document &&
           run.document + run.length <= passage->document_stop &&
           passage->item_start <= run.item && run.item + run.length <= passage->item_stop;
}

int64_t align_grow(struct align_words document, struct align_words item,
                   const struct align_run *runs, int64_t count, int64_t pair,
                   struct align_passage *found)
{
    const struct align_bounds everywhere = {0, document.count, 0, item.count};
    int64_t passages = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t known = 0;
        while (known < passages && !holds(&found[known], runs[i]))
            known++;
        if (known < passages)
            continue;
        int64_t first = runs[i].document, first_own = runs[i].item;
        int64_t last = first + runs[i].length - 1, last_own = first_own + runs[i].length - 1;
        struct align_run run;
        while (align_next(document, item, &everywhere, 1, &last, &last_own, &run))
            ;
        while (align_next(document, item, &everywhere, -1, &first, &first_own, &run))
            ;
        found[passages++] =
            (struct align_passage){pair, first, last + 1, first_own, last_own + 1};
    }
    return passages;
}
