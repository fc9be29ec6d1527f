/* Lines that hold objects of JSON: where the values of some of their fields are.

   A line is only taken if all of it is understood: one object of RFC 8259 in which no wanted field
   comes twice.  Every other line is refused, and a library looks at it. */

#ifndef SIMDB_OBJECTS_H
#define SIMDB_OBJECTS_H

#include <stdint.h>

enum {
    JSON_PATHS = 32,      /* at most so many are wanted */
    JSON_DEPTH = 1 << 17, /* of objects and lists inside each other, a multiple of 64 */
    JSON_NUMBER = 512,    /* bytes of a number; Python refuses whole numbers of many digits */
    JSON_WHOLE = 18,      /* digits of a whole number that fits 64 bits for sure */
    JSON_SLACK = 16
};

enum json_kind { JSON_NOTHING, JSON_STRING, JSON_WHOLE_NUMBER };
enum json_line { JSON_TAKEN, JSON_BLANK, JSON_REFUSED };

/* The names that lead to a wanted field, from the outermost object on. */
struct json_path {
    int64_t length;
    const uint8_t *const *names;
    const int64_t *sizes;
    int is_text; /* other values than strings and null refuse the line; else whole numbers do not */
};

/* Scan `count` lines, each with its line feed, of valid UTF-8.  Write the size of line i to
   sizes[i], what became of it to lines[i], and for path p where its value is to addresses[p * count
   + i], lengths, in bytes, and kinds: JSON_NOTHING, with the length -1, for null or no such field.
   A string without escapes is where it is in `content`, others are written one after the other to
   `spare`, which has room for as many bytes as `content` and JSON_SLACK more. */
void arrange_scan_objects(const uint8_t *content, int64_t size, int64_t count,
                          const struct json_path *paths, int64_t path_count, int64_t *sizes,
                          uint8_t *lines, uint64_t *addresses, int64_t *lengths, uint8_t *kinds,
                          uint8_t *spare);

#endif
