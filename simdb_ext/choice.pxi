# The variant of its operations that a module uses: the fastest one, until another is selected.  A
# module declares `in_use` and `variant_at` as names of its table in C (`CPU_CHOICE`).


def variants():
    """Return the names of the variants this processor can run, from "scalar" to the fastest."""
    names = []
    while variant_at(len(names)) != NULL:
        names.append(variant_at(len(names)).name.decode())
    return names


def select(str variant not None):
    """Switch to `variant`; return the name of the variant used before."""
    global in_use
    names = variants()
    if variant not in names:
        raise ValueError(f"no variant {variant!r}; there are: {', '.join(names)}")
    before = in_use.name.decode()
    in_use = variant_at(names.index(variant))
    return before


select(variants().pop())
