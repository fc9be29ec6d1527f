/* Tables of places: where the bits of a byte are, and which bytes of four lanes are in use. */

#ifndef SIMDB_PLACES_H
#define SIMDB_PLACES_H

#include <stdint.h>

/* places_of_bits[b]: the numbers of the bits that are set in b, the lowest first, a byte each, then
   zeros. */
extern uint64_t places_of_bits[256];

/* Four lanes of 32 bits hold 1 to 3 bytes each.  places_of_bytes[b]: the numbers of the bytes in
   use, then zeros.  Bit i of b is set if lane i holds 2 bytes or more, bit 4 + i if it holds 3. */
extern uint8_t places_of_bytes[256][16];

/* Fill both tables; call this once, before anything else. */
void places_begin(void);

#endif
