# Collecting the addresses of characters and tokens, with the GIL held, and cleaning texts before
# they are cut, for `_sketch.pyx`.

# Limits of what is collected before the GIL is released for one call.  A chunk of tokens is so
# small that it is still in the cache when it is hashed.
cdef enum:
    CHUNK_TEXTS = 1024
    CHUNK_CHARACTERS = 1 << 20
    CHUNK_TOKENS = 1 << 12


cdef class Texts:
    """The addresses of the characters of some texts, and the objects that own them."""

    cdef sketch_text *texts
    cdef int64_t count
    cdef object error
    cdef list owners
    cdef uint8_t *room
    cdef int64_t room_bytes
    cdef str errors
    cdef object start

    def __cinit__(self, str errors, start):
        self.errors = errors
        self.start = start
        self.texts = <sketch_text *>malloc(CHUNK_TEXTS * sizeof(sketch_text))
        if self.texts == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.texts)
        free(self.room)

    cdef int collect(self, documents, Py_ssize_t first) except -1:
        """Collect a chunk of documents starting at `first`, or fewer if one has an error."""
        self.count = 0
        self.owners = []
        self.error = None
        try:
            if isinstance(documents, TextColumn):
                self.take_column(documents.addresses, documents.lengths, first)
            else:
                self.take_objects(documents, first)
        except InputError as error:
            self.error = error
        self.decode(first)
        return 0

    cdef int take_objects(self, tuple documents, Py_ssize_t first) except -1:
        cdef int64_t characters = 0
        while (
            first < len(documents)
            and self.count < CHUNK_TEXTS
            and characters < CHUNK_CHARACTERS
        ):
            self.take(documents[first], &self.texts[self.count], first)
            characters += self.texts[self.count].length
            self.count += 1
            first += 1
        return 0

    cdef int take_column(
        self, const uint64_t[::1] addresses, const int64_t[::1] lengths, Py_ssize_t first
    ) except -1:
        cdef int64_t characters = 0
        while (
            first < addresses.shape[0]
            and self.count < CHUNK_TEXTS
            and characters < CHUNK_CHARACTERS
        ):
            if lengths[first] < 0:
                raise InputError(f"document {self.start + first} is null, not str or bytes")
            take_utf8(
                <const void *><size_t>addresses[first], lengths[first], &self.texts[self.count]
            )
            characters += lengths[first]
            self.count += 1
            first += 1
        return 0

    cdef int take(self, object text, sketch_text *taken, Py_ssize_t position) except -1:
        """Take one document; `decode` must follow."""
        if isinstance(text, bytes):
            take_utf8(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), taken)
            return 0
        if not isinstance(text, str):
            found = f"{type(text).__name__}, not str or bytes"
            raise InputError(f"document {self.start + position} is {found}")
        return take_str(text, taken)

    cdef int decode(self, Py_ssize_t first) except -1:
        """Decode the texts taken as UTF-8; stop with an error before an invalid text."""
        cdef int64_t at = 0, size = 0
        while True:
            with nogil:
                at = utf8_accept(self.texts, at, self.count, &size)
            if at == self.count:
                break
            try:
                self.take_invalid(&self.texts[at], first + at)
            except InputError as error:
                self.error = error
                self.count = at
        self.make_room(size)
        if size > 0:
            with nogil:
                utf8_decode(self.texts, self.count, self.room)
        return 0

    cdef int take_invalid(self, sketch_text *taken, Py_ssize_t position) except -1:
        """Take a text of invalid UTF-8 as Python decodes it."""
        cdef bytes content = (<const char *>taken.characters)[:taken.length]
        try:
            text = content.decode("utf-8", self.errors)
        except UnicodeDecodeError as error:
            message = f"document {self.start + position} is not valid UTF-8: {error}"
            raise InputError(message) from error
        self.owners.append(text)
        return take_str(text, taken)

    cdef int make_room(self, int64_t wanted) except -1:
        if wanted > self.room_bytes:
            free(self.room)
            self.room_bytes = 0
            self.room = <uint8_t *>malloc(wanted)
            if self.room == NULL:
                raise MemoryError()
            self.room_bytes = wanted
        return 0

    cdef int strip(self) except -1:
        """Remove the markup of the texts."""
        cdef int64_t at = 0
        while True:
            with nogil:
                while at < self.count and not markup_is_any(&self.texts[at]):
                    at += 1
            if at == self.count:
                return 0
            self.owners.append(strip_text(&self.texts[at], NULL))
            at += 1


cdef object strip_text(sketch_text *text, uint8_t *is_dropped):
    """Remove the markup of a text, and return the new owner of its characters."""
    owner = PyBytes_FromStringAndSize(NULL, text.length * text.width)
    text.length = markup_strip(text, PyBytes_AS_STRING(owner), is_dropped)
    text.characters = PyBytes_AS_STRING(owner)
    return owner


cdef void take_utf8(const void *content, int64_t length, sketch_text *taken) noexcept:
    taken.characters = content
    taken.length = length
    taken.width = UTF8_WIDTH
    taken.is_ascii = False
    taken.is_clean = False


def is_utf8(bytes content not None):
    """Return whether bytes are valid UTF-8."""
    cdef const uint8_t *start = <const uint8_t *>PyBytes_AS_STRING(content)
    cdef int64_t length = PyBytes_GET_SIZE(content)
    cdef int64_t count
    cdef int width
    with nogil:
        width = utf8_measure(start, length, &count)
    return width > 0


def are_utf8(const uint64_t[::1] addresses not None, const int64_t[::1] lengths not None):
    """Return whether each text is valid UTF-8: bool[n]; the caller keeps the texts alive."""
    cdef Py_ssize_t at, total = addresses.shape[0]
    cdef int64_t count
    if lengths.shape[0] != total:
        raise ValueError(f"there are {total} addresses but {lengths.shape[0]} lengths")
    found = np.ones(total, np.bool_)
    cdef uint8_t[::1] out = found.view(np.uint8)
    with nogil:
        for at in range(total):
            if lengths[at] > 0:
                out[at] = utf8_measure(
                    <const uint8_t *><size_t>addresses[at], lengths[at], &count
                ) > 0
    return found


cdef int take_str(object text, sketch_text *taken) except -1:
    make_ready(text)
    taken.characters = PyUnicode_DATA(text)
    taken.length = PyUnicode_GET_LENGTH(text)
    taken.width = PyUnicode_KIND(text)
    taken.is_ascii = PyUnicode_IS_ASCII(text)
    taken.is_clean = False
    return 0


cdef class Tokens:
    """The addresses of the tokens of some documents, and the objects that own them."""

    cdef sketch_token *tokens
    cdef int64_t offsets[CHUNK_TEXTS + 1]
    cdef int64_t room
    cdef int64_t count
    cdef list owners
    cdef str errors
    cdef object start

    def __cinit__(self, str errors, start):
        self.errors = errors
        self.start = start

    def __dealloc__(self):
        free(self.tokens)

    cdef int collect(self, tuple documents, Py_ssize_t first) except -1:
        """Collect a chunk of documents starting at `first`."""
        self.count = 0
        self.offsets[0] = 0
        self.owners = []
        while (
            first < len(documents)
            and self.count < CHUNK_TEXTS
            and self.offsets[self.count] < CHUNK_TOKENS
        ):
            self.take_document(documents[first], first)
            first += 1
        return 0

    cdef int take_document(self, object document, Py_ssize_t position) except -1:
        cdef int64_t used = self.offsets[self.count]
        cdef tuple tokens
        cdef sketch_token *taken
        cdef Py_ssize_t at
        if isinstance(document, (str, bytes)) or not hasattr(document, "__iter__"):
            found = f"{type(document).__name__}, not a list of tokens"
            raise InputError(f"document {self.start + position} is {found}")
        tokens = tuple(document)
        self.owners.append(tokens)
        self.make_room(used + len(tokens))
        for at in range(len(tokens)):
            taken = &self.tokens[used + at]
            if not find_ascii(tokens, at, &taken.content, &taken.length):
                self.take(tokens[at], taken, position, at)
        used += len(tokens)
        self.count += 1
        self.offsets[self.count] = used
        return 0

    cdef int make_room(self, int64_t wanted) except -1:
        cdef int64_t room = max(wanted, 2 * self.room)
        if wanted <= self.room:
            return 0
        tokens = <sketch_token *>realloc(self.tokens, room * sizeof(sketch_token))
        if tokens == NULL:
            raise MemoryError()
        self.tokens = tokens
        self.room = room
        return 0

    cdef int take(
        self, object token, sketch_token *taken, Py_ssize_t position, int64_t number
    ) except -1:
        if isinstance(token, str):
            make_ready(token)
            if PyUnicode_IS_ASCII(token):
                taken.content = <const uint8_t *>PyUnicode_DATA(token)
                taken.length = PyUnicode_GET_LENGTH(token)
                return 0
            try:
                token = token.encode("utf-8", self.errors)
            except UnicodeEncodeError as error:
                where = f"a lone surrogate in token {number}: {error}"
                raise InputError(f"document {self.start + position} has {where}") from error
            self.owners.append(token)
        if not isinstance(token, bytes):
            what = f"a {type(token).__name__} as token {number}, not str or bytes"
            if isinstance(token, (int, float)):
                what += "; numbers are a vector in a numpy array only"
            raise InputError(f"document {self.start + position} has {what}")
        taken.content = <const uint8_t *>PyBytes_AS_STRING(token)
        taken.length = PyBytes_GET_SIZE(token)
        return 0


cdef class Cleaning:
    """The way to clean texts; `compose` converts a str to NFC, which cleaning expects."""

    cdef clean_settings settings
    cdef object compose

    def __cinit__(self, compose, bint lowercase, int cleaning):
        self.settings.cleaning = SKETCH_CLEANED | cleaning
        self.settings.lowercase = lowercase
        self.compose = compose


cdef object clean_text(sketch_text *text, Cleaning cleaning):
    """Clean a text, and return the new owner of its characters; None if it did not change."""
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


def cleaned(str text not None, *, lowercase, compose, cleaning=0):
    """Return a text in which parts that look equal are equal."""
    cdef sketch_text taken
    take_str(text, &taken)
    owner = clean_text(&taken, Cleaning(compose, lowercase, cleaning))
    if owner is None:
        return text
    return PyUnicode_FromKindAndData(taken.width, taken.characters, taken.length)
