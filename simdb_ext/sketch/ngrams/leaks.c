#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "text/marks.h"

/* Points of a word, and the penalty for each word that one side has more. */
#define WORD 10
#define SHIFT 3

static inline int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int is_number(uint64_t word) { return (int)(word & SKETCH_NUMBER); }

/* Make room for `wanted` items of `size` bytes; return 0 without memory. */
static int make_room(void **things, int64_t *room, int64_t wanted, size_t size)
{
    if (wanted <= *room)
        return 1;
    wanted = most_of(wanted, 2 * *room);
    void *wider = realloc(*things, (size_t)wanted * size);
    if (wider == NULL)
        return 0;
    *things = wider;
    *room = wanted;
    return 1;
}

/* A seed with the best chain that ends with it: the score of the chain, and the seed before it, or
   NONE.  Once the seed is in a chain that was taken, `before` is USED, and `after` is the next
   seed. */
struct leak_scored {
    int64_t score;
    int64_t before;
    int64_t after;
};

struct leak_ranked {
    int64_t score;
    int64_t seed;
};

enum { NONE = -1, USED = -2 };

/* Find the best chain that ends with each seed. */
static void score(struct leak_scored *scored, const struct align_run *seeds, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        scored[i] = (struct leak_scored){seeds[i].length * WORD, NONE, NONE};
        for (int64_t j = i - 1; j >= 0 && j >= i - LEAKS_BEFORE; j--) {
            int64_t ahead = seeds[i].document - seeds[j].document;
            int64_t own_ahead = seeds[i].item - seeds[j].item;
            if (ahead > LEAKS_GAP)
                break;
            if (ahead <= 0 || own_ahead <= 0 || own_ahead > LEAKS_GAP)
                continue;
            int64_t added = least_of(seeds[i].length, least_of(ahead, own_ahead));
            int64_t whole =
                scored[j].score + WORD * added - SHIFT * llabs(ahead - own_ahead);
            if (whole > scored[i].score) {
                scored[i].score = whole;
                scored[i].before = j;
            }
        }
    }
}

/* Order by falling score, then by seed. */
static int compare_ranked(const void *left, const void *right)
{
    const struct leak_ranked *a = left, *b = right;

    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return a->seed < b->seed ? -1 : 1;
}

/* Take the chain that ends with a seed, back to a seed that was taken before; return its first
   seed. */
static int64_t take_chain(struct leak_scored *scored, int64_t seed)
{
    int64_t after = NONE;

    for (;;) {
        int64_t before = scored[seed].before;
        scored[seed].before = USED;
        scored[seed].after = after;
        after = seed;
        if (before == NONE || scored[before].before == USED)
            return seed;
        seed = before;
    }
}

/* A pair that is judged. */
struct pair {
    struct leak_work *work;
    struct align_words document;
    struct align_words item;
    int is_out_of_memory;
};

static void append(struct pair *pair, struct leak_passage *passage, struct align_run run)
{
    struct leak_work *work = pair->work;

    if (!make_room((void **)&work->runs, &work->run_room, work->run_count + 1, sizeof run)) {
        pair->is_out_of_memory = 1;
        return;
    }
    work->runs[work->run_count++] = run;
    passage->runs++;
}

/* Append a run to a passage, or extend the run before it. */
static void add_run(struct pair *pair, struct leak_passage *passage, struct align_run run)
{
    struct leak_work *work = pair->work;

    if (passage->runs > 0) {
        struct align_run *last = &work->runs[work->run_count - 1];
        if (last->document + last->length == run.document &&
            last->item + last->length == run.item) {
            last->length += run.length;
            return;
        }
    }
    append(pair, passage, run);
}

/* Append the equal words before a place, within `bounds`, in the order of the words. */
static void add_before(struct pair *pair, struct leak_passage *passage,
                       const struct align_bounds *bounds, int64_t at, int64_t own)
{
    struct align_run run;
    int64_t first = pair->work->run_count;

    while (!pair->is_out_of_memory &&
           align_next(pair->document, pair->item, bounds, -1, &at, &own, &run))
        append(pair, passage, run);
    for (int64_t last = pair->work->run_count - 1; first < last; first++, last--) {
        run = pair->work->runs[first];
        pair->work->runs[first] = pair->work->runs[last];
        pair->work->runs[last] = run;
    }
}

/* Append the equal words after a place, within `bounds`; move the place to the last of them. */
static void add_after(struct pair *pair, struct leak_passage *passage,
                      const struct align_bounds *bounds, int64_t *at, int64_t *own)
{
    struct align_run run;

    while (!pair->is_out_of_memory &&
           align_next(pair->document, pair->item, bounds, 1, at, own, &run))
        add_run(pair, passage, run);
}

/* Grow the chain that begins with a seed into a passage. */
static struct leak_passage grow(struct pair *pair, const struct align_run *seeds,
                                const struct leak_scored *scored, int64_t seed)
{
    struct leak_work *work = pair->work;
    struct leak_passage passage = {{0, 0, 0, 0, 0}, work->run_count, 0};
    struct align_bounds bounds = {0, seeds[seed].document, 0, seeds[seed].item};
    int64_t at = seeds[seed].document - 1, own = seeds[seed].item - 1;

    add_before(pair, &passage, &bounds, seeds[seed].document, seeds[seed].item);
    for (; seed != NONE; seed = scored[seed].after) {
        struct align_run next = seeds[seed];
        /* A word counts once, so words that the seed before has on either side are skipped. */
        int64_t known = most_of(0, most_of(at - next.document, own - next.item) + 1);
        if (known >= next.length)
            continue;
        if (passage.runs > 0 && known == 0) {
            bounds = (struct align_bounds){at + 1, next.document, own + 1, next.item};
            add_after(pair, &passage, &bounds, &at, &own);
            bounds.document_start = at + 1;
            bounds.item_start = own + 1;
            add_before(pair, &passage, &bounds, next.document, next.item);
        }
        add_run(pair, &passage, (struct align_run){next.document + known, next.item + known,
                                                   next.length - known});
        at = next.document + next.length - 1;
        own = next.item + next.length - 1;
    }
    bounds = (struct align_bounds){at + 1, pair->document.count, own + 1, pair->item.count};
    add_after(pair, &passage, &bounds, &at, &own);
    if (!pair->is_out_of_memory) {
        struct align_run first = work->runs[passage.first_run];
        passage.place = (struct align_passage){0, first.document, at + 1, first.item, own + 1};
    }
    return passage;
}

/* Add a passage to the words of the item that are covered (step 1), or remove it (-1); return the
   change of the covered weight. */
static int64_t cover(struct pair *pair, const struct leak_passage *passage, int step,
                     const int64_t *weights)
{
    int64_t *covering = pair->work->covering, weight = 0;

    for (int64_t i = 0; i < passage->runs; i++) {
        struct align_run run = pair->work->runs[passage->first_run + i];
        for (int64_t own = run.item; own < run.item + run.length; own++) {
            if (covering[own] == (step < 0))
                weight += step * weights[own];
            covering[own] += step;
        }
    }
    return weight;
}

/* Count the numbers among some words that have no equal among some others; each equal is used
   once. */
static int64_t numbers_without(const uint64_t *words, int64_t count, const uint64_t *others,
                               int64_t other_count)
{
    uint64_t taken = 0;
    int64_t alone = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t j = 0;
        if (!is_number(words[i]))
            continue;
        while (j < other_count && (others[j] != words[i] || taken >> j & 1))
            j++;
        alone += j == other_count;
        if (j < other_count)
            taken |= (uint64_t)1 << j;
    }
    return alone;
}

/* Count the places, next to two places in direction `step`, where both sides have different
   numbers. */
static int64_t others_from(const struct pair *pair, int64_t at, int64_t own, int step)
{
    int64_t others = 0;

    for (int i = 1; i <= LEAKS_ENDS; i++) {
        int64_t place = at + step * i, own_place = own + step * i;
        if (place < 0 || place >= pair->document.count || own_place < 0 ||
            own_place >= pair->item.count)
            break;
        uint64_t word = pair->document.words[place], other = pair->item.words[own_place];
        others += is_number(word) && is_number(other) && word != other;
    }
    return others;
}

/* Count the numbers of the item in whose place a passage has different ones. */
static int64_t other_numbers(const struct pair *pair, const struct leak_passage *passage)
{
    const struct align_run *runs = pair->work->runs + passage->first_run;
    struct align_passage place = passage->place;
    int64_t others = others_from(pair, place.document_start, place.item_start, -1) +
                     others_from(pair, place.document_stop - 1, place.item_stop - 1, 1);

    for (int64_t i = 0; i + 1 < passage->runs; i++) {
        int64_t at = runs[i].document + runs[i].length, own = runs[i].item + runs[i].length;
        int64_t between = runs[i + 1].document - at, own_between = runs[i + 1].item - own;
        const uint64_t *words = pair->document.words + at, *own_words = pair->item.words + own;

        if (between <= LEAKS_BETWEEN && own_between <= LEAKS_GAP)
            others += least_of(numbers_without(words, between, own_words, own_between),
                               numbers_without(own_words, own_between, words, between));
    }
    return others;
}

/* Find the passages near one another that together cover most of the item: those from `first` to
   `last` of `order`, which is by their start.  Return the weight that they cover. */
static int64_t best_near(struct pair *pair, const struct leak_passage *passages,
                         const int *order, int count, const int64_t *weights, int *first,
                         int *last)
{
    int64_t near = 2 * pair->item.count + LEAKS_NEAR, weight = 0, best = 0;
    int stop = 0;

    *first = *last = 0;
    for (int i = 0; i < count; i++) {
        int64_t limit = passages[order[i]].place.document_start + near;
        stop = stop < i ? i : stop;
        for (; stop < count && passages[order[stop]].place.document_stop <= limit; stop++)
            weight += cover(pair, &passages[order[stop]], 1, weights);
        if (weight > best) {
            best = weight;
            *first = i;
            *last = stop;
        }
        if (stop > i)
            weight += cover(pair, &passages[order[i]], -1, weights);
    }
    return best;
}

/* Write the order of passages by their start. */
static void sort_passages(const struct leak_passage *passages, int *order, int count)
{
    for (int i = 0; i < count; i++) {
        int at = i;
        struct align_passage own = passages[i].place;
        for (; at > 0; at--) {
            struct align_passage other = passages[order[at - 1]].place;
            if (other.document_start < own.document_start ||
                (other.document_start == own.document_start &&
                 other.item_start <= own.item_start))
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

/* Keep the passages in `is_kept`, and their runs. */
static int keep(struct pair *pair, const struct leak_passage *passages, int count,
                const uint8_t *is_kept, int64_t first_run, int64_t number)
{
    struct leak_work *work = pair->work;

    work->run_count = first_run;
    for (int i = 0; i < count; i++) {
        if (!is_kept[i])
            continue;
        struct leak_passage own = passages[i];
        memmove(work->runs + work->run_count, work->runs + own.first_run,
                (size_t)own.runs * sizeof *work->runs);
        own.first_run = work->run_count;
        own.place.pair = number;
        work->run_count += own.runs;
        if (!make_room((void **)&work->passages, &work->passage_room, work->passage_count + 1,
                       sizeof own))
            return 0;
        work->passages[work->passage_count++] = own;
    }
    return 1;
}

/* Fill in the verdict from the passages near one another that cover most of the item.  Mark them in
   `is_kept` and remove them from `order`; return the number of passages left in it. */
static int judge_nearest(struct pair *pair, const struct leak_passage *passages, int *order,
                         int count, const int64_t *weights, uint8_t *is_kept,
                         struct leak_verdict *verdict)
{
    int64_t *covering = pair->work->covering;
    int first, last;

    *verdict = (struct leak_verdict){0, 0, 0, 0};
    memset(covering, 0, (size_t)pair->item.count * sizeof *covering);
    verdict->covered = best_near(pair, passages, order, count, weights, &first, &last);
    for (int i = first; i < last; i++) {
        is_kept[order[i]] = 1;
        cover(pair, &passages[order[i]], 1, weights);
        verdict->other += other_numbers(pair, &passages[order[i]]);
    }
    for (int64_t own = 0; own < pair->item.count; own++) {
        verdict->equal += covering[own] > 0;
        verdict->same += covering[own] > 0 && is_number(pair->item.words[own]);
    }
    memmove(order + first, order + last, (size_t)(count - last) * sizeof *order);
    return count - (last - first);
}

int leaks_judge(struct leak_work *work, struct align_words document, struct align_words item,
                const int64_t *weights, const struct align_run *seeds, int64_t count,
                int64_t least, int64_t number, struct leak_verdict *verdict)
{
    struct pair pair = {work, document, item, 0};
    struct leak_passage passages[LEAKS_CHAINS];
    struct leak_verdict again;
    uint8_t is_kept[LEAKS_CHAINS] = {0}, is_copy[LEAKS_CHAINS];
    int order[LEAKS_CHAINS], found = 0, left;
    int64_t first_run = work->run_count;

    if (!make_room((void **)&work->scored, &work->scored_room, count, sizeof *work->scored) ||
        !make_room((void **)&work->ranked, &work->ranked_room, count, sizeof *work->ranked) ||
        !make_room((void **)&work->covering, &work->word_room, item.count,
                   sizeof *work->covering))
        return 0;
    score(work->scored, seeds, count);
    for (int64_t i = 0; i < count; i++)
        work->ranked[i] = (struct leak_ranked){work->scored[i].score, i};
    qsort(work->ranked, (size_t)count, sizeof *work->ranked, compare_ranked);
    for (int64_t i = 0; i < count && found < LEAKS_CHAINS; i++) {
        if (work->scored[work->ranked[i].seed].before == USED)
            continue;
        int64_t begin = take_chain(work->scored, work->ranked[i].seed);
        passages[found++] = grow(&pair, seeds, work->scored, begin);
        if (pair.is_out_of_memory)
            return 0;
    }
    sort_passages(passages, order, found);
    left = judge_nearest(&pair, passages, order, found, weights, is_kept, verdict);
    if (verdict->covered < least) {
        work->run_count = first_run;
        return 1;
    }
    do {
        memcpy(is_copy, is_kept, sizeof is_copy);
        left = judge_nearest(&pair, passages, order, left, weights, is_copy, &again);
        if (again.covered >= least)
            memcpy(is_kept, is_copy, sizeof is_kept);
    } while (again.covered >= least);
    return keep(&pair, passages, found, is_kept, first_run, number);
}

void leaks_free(struct leak_work *work)
{
    free(work->passages);
    free(work->runs);
    free(work->scored);
    free(work->ranked);
    free(work->covering);
}
