# Cleaning texts before they are cut, for `_sketch.pyx`.


cdef class Cleaning:
    """How texts are cleaned; `compose` brings a str into NFC, in which cleaning expects it."""

    cdef clean_settings settings
    cdef object compose

    def __cinit__(self, compose, bint lowercase, bint turkic):
        self.settings.cleaning = SKETCH_TURKIC if turkic else SKETCH_CLEANED
        self.settings.lowercase = lowercase
        self.compose = compose


cdef object clean_text(sketch_text *text, Cleaning cleaning):
    """Clean a text, and return what owns its characters then: None if it is as it was."""
    cdef int needs = sketch_operations.clean(text, cleaning.settings)
    cdef void *room
    owner = None
    if needs & CLEAN_COMPOSE:
        owner = cleaning.compose(
            PyUnicode_FromKindAndData(text.width, text.characters, text.length)
        )
        take_str(owner, text)
        needs = sketch_operations.clean(text, cleaning.settings)
    if needs & CLEAN_REWRITE:
        room = malloc(CLEAN_GROWTH * text.width * text.length)
        if room == NULL:
            raise MemoryError()
        try:
            clean_write(text, cleaning.settings, room)
            owner = PyBytes_FromStringAndSize(<const char *>room, text.width * text.length)
        finally:
            free(room)
        text.characters = PyBytes_AS_STRING(owner)
    text.is_clean = True
    return owner


def cleaned(str text not None, *, lowercase, compose, turkic=False):
    """Return a text as it is cut."""
    cdef sketch_text taken
    take_str(text, &taken)
    owner = clean_text(&taken, Cleaning(compose, lowercase, turkic))
    if owner is None:
        return text
    return PyUnicode_FromKindAndData(taken.width, taken.characters, taken.length)
