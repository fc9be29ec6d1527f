/* `cut`, `cut_spaceless` and `cut_spaces`: text of any script. */

#ifndef SIMDB_CUT_H
#define SIMDB_CUT_H

#include "text.h"
#include "unicode.h"
#include "vector.h"

/* The classes that words consist of, and the classes of characters that are words by themselves; a
   letter of a script without spaces belongs to the latter if `alone`. */
#define CUT_WORDS(alone) (1u << CLASS_WORD | !(alone) * (1u << CLASS_SPACELESS))
#define CUT_SINGLES(alone) (1u << CLASS_SINGLE | !!(alone) * (1u << CLASS_SPACELESS))

/* The state of a text that is being cut. */
struct cut {
    const struct sketch_tokens *tokens;
    int64_t opened; /* the character where the last token began */
    int64_t started;
    int64_t stopped;
    uint32_t size;
    int after_word;
    int after_token;
};

/* Cut some characters.  Neighbours of the classes whose bits are set in `words` make a token
   together, a character of the classes in `singles` makes a token alone.  Every character is
   copied, and where tokens begin and end is computed without a branch: in running text it cannot be
   predicted. */
static inline void cut_some(struct cut *cut, const struct sketch_text *text, int64_t start,
                            int64_t stop, int lowercase, unsigned words, unsigned singles)
{
    struct cut now = *cut;

    for (int64_t i = start; i < stop; i++) {
        uint32_t code = character_at(text, i);
        int is_word = words >> unicode_class(code) & 1;
        int is_token = (words | singles) >> unicode_class(code) & 1;
        int is_parted = !(now.after_word & is_word);

        now.tokens->stops[now.stopped] = now.size;
        now.stopped += now.after_token & is_parted;
        now.tokens->starts[now.started] = now.size;
        now.started += is_token & is_parted;
        now.opened = is_parted ? i : now.opened;
        now.size += (uint32_t)unicode_encode(lowercase ? unicode_lower(code) : code,
                                             now.tokens->copy + now.size);
        now.after_word = is_word;
        now.after_token = is_token;
    }
    *cut = now;
}

static inline int64_t cut_end(const struct cut *cut, int64_t stop, int64_t *open)
{
    if (cut->stopped < cut->started)
        cut->tokens->stops[cut->stopped] = cut->size;
    *open = cut->after_word ? cut->opened : stop;
    return cut->started;
}

#if VECTORS == VECTORS_AVX2
#include "cut_avx2.h"
#elif VECTORS == VECTORS_AVX512
#include "cut_avx512.h"
#elif VECTORS == VECTORS_NEON
#include "cut_neon.h"
#else

/* The definition.  Letters of scripts without spaces are words by themselves if `alone`, a
   constant. */
VECTOR_INLINE int64_t cut_any(const struct sketch_text *text, int64_t start, int64_t stop,
                              int lowercase, const struct sketch_tokens *tokens, int64_t *open,
                              const int alone)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    cut_some(&cut, text, start, stop, lowercase, CUT_WORDS(alone), CUT_SINGLES(alone));
    return cut_end(&cut, stop, open);
}

#endif

static int64_t cut(const struct sketch_text *text, int64_t start, int64_t stop, int lowercase,
                   const struct sketch_tokens *tokens, int64_t *open)
{
    return cut_any(text, start, stop, lowercase, tokens, open, 0);
}

static int64_t cut_spaceless(const struct sketch_text *text, int64_t start, int64_t stop,
                             int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    return cut_any(text, start, stop, lowercase, tokens, open, 1);
}

static int64_t cut_spaces(const struct sketch_text *text, int64_t start, int64_t stop,
                          int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    cut_some(&cut, text, start, stop, lowercase, ~(1u << CLASS_SPACE), 0);
    return cut_end(&cut, stop, open);
}

#endif
