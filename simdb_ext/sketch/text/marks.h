/* Marks: properties of a word in the lowest bits of its hash, if words are marked. */

#ifndef SIMDB_MARKS_H
#define SIMDB_MARKS_H

#define SKETCH_NUMBER 1 /* the word begins with a decimal digit */
#define SKETCH_SINGLE 2 /* the word is one character of a script without spaces */
#define SKETCH_MARKS (SKETCH_NUMBER | SKETCH_SINGLE)

#endif
