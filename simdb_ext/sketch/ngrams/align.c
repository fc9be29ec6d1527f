#include "align.h"

#define CHANGES ((ALIGN_CHANGED + 1) * (ALIGN_CHANGED + 1) - 1)

/* How many words of the document and of the item to pass over, the smallest changes first. */
static const struct {
    int8_t document, item;
} CHANGE[CHANGES] = {
    {0, 1}, {1, 0}, {1, 1}, {0, 2}, {2, 0}, {1, 2}, {2, 1}, {2, 2},
    {0, 3}, {3, 0}, {1, 3}, {3, 1}, {2, 3}, {3, 2}, {3, 3},
};

static inline int is_equal(struct align_words document, struct align_words item, int64_t at,
                           int64_t own)
{
    return 0 <= at && at < document.count && 0 <= own && own < item.count &&
           document.words[at] == item.words[own];
}

static int is_equal_again(struct align_words document, struct align_words item, int64_t at,
                          int64_t own, int step)
{
    for (int i = 0; i < ALIGN_AGAIN; i++)
        if (!is_equal(document, item, at + i * step, own + i * step))
            return 0;
    return 1;
}

/* Follow equal words from two positions on, forwards or backwards, and over changes.  Mark them,
   and put the positions of the last of them into `at` and `own`, which stay if there are none. */
static void follow(struct align_words document, struct align_words item, int64_t *at, int64_t *own,
                   int step, uint8_t *equal)
{
    int64_t next = *at + step, next_own = *own + step;

    for (;;) {
        while (is_equal(document, item, next, next_own)) {
            equal[next_own] = 1;
            *at = next;
            *own = next_own;
            next += step;
            next_own += step;
        }
        int change = 0;
        while (change < CHANGES &&
               !is_equal_again(document, item, next + step * CHANGE[change].document,
                               next_own + step * CHANGE[change].item, step))
            change++;
        if (change == CHANGES)
            return;
        next += step * CHANGE[change].document;
        next_own += step * CHANGE[change].item;
    }
}

static int holds(const struct align_passage *passage, struct align_run run)
{
    return passage->document_start <= run.document &&
           run.document + run.length <= passage->document_stop &&
           passage->item_start <= run.item && run.item + run.length <= passage->item_stop;
}

int64_t align_grow(struct align_words document, struct align_words item,
                   const struct align_run *runs, int64_t count, int64_t pair,
                   struct align_passage *found, uint8_t *equal)
{
    int64_t passages = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t known = 0;
        while (known < passages && !holds(&found[known], runs[i]))
            known++;
        if (known < passages)
            continue;
        int64_t first = runs[i].document, first_own = runs[i].item;
        int64_t last = first + runs[i].length - 1, last_own = first_own + runs[i].length - 1;
        for (int64_t own = first_own; own <= last_own; own++)
            equal[own] = 1;
        follow(document, item, &last, &last_own, 1, equal);
        follow(document, item, &first, &first_own, -1, equal);
        found[passages++] =
            (struct align_passage){pair, first, last + 1, first_own, last_own + 1};
    }
    return passages;
}
