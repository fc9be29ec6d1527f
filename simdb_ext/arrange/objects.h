/* JSON lines: where the values of some fields are.

   A line is taken only if all of it is understood: one object of RFC 8259 in which no wanted field
   occurs twice.  Any other line is refused and left to a library. */

#ifndef SIMDB_OBJECTS_H
#define SIMDB_OBJECTS_H

#include <stdint.h>

enum {
    JSON_PATHS = 32,      /* wanted paths at most */
    JSON_DEPTH = 1 << 17, /* objects and lists inside each other; a multiple of 64 */
    JSON_NUMBER = 512,    /* bytes of a number; Python refuses whole numbers of many digits */
    JSON_WHOLE = 18,      /* digits of a whole number, which then surely fits 64 bits */
    JSON_SLACK = 16
};

enum json_kind { JSON_NOTHING, JSON_STRING, JSON_WHOLE_NUMBER };
enum json_line { JSON_TAKEN, JSON_BLANK, JSON_REFUSED };

/* The names that lead to a wanted field, starting with the outermost object. */
struct json_path {
    int64_t length;
    const uint8_t *const *names;
    const int64_t *sizes;
    int is_text; /* whether only strings and null are allowed; otherwise also whole numbers */
};

/* Scan `count` lines of valid UTF-8, each with its line feed.  Write the size of line i to sizes[i]
   and what became of it to lines[i].  Write where its value at path p is to addresses[p * count +
   i], its bytes to `lengths`, and its kind to `kinds`: JSON_NOTHING, with the length -1, for null
   or a missing field.

   A string without escapes is read where it is in `content`.  Others are written back to back to
   `spare`, which has room for the size of `content` and JSON_SLACK bytes more. */
void arrange_scan_objects(const uint8_t *content, int64_t size, int64_t count,
                          const struct json_path *paths, int64_t path_count, int64_t *sizes,
                          uint8_t *lines, uint64_t *addresses, int64_t *lengths, uint8_t *kinds,
                          uint8_t *spare);

#endif
