/* Which variant of every operation is in use. */

#ifndef SIMDB_SELECT_H
#define SIMDB_SELECT_H

/* `variant`: one of enum cpu_variant, at most cpu_best(). */
void arrange_select(int variant);

#endif
