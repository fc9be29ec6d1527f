"""Columns, connected components and document ids; `_arrange.pyi` says what each function does."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

import operator

import numpy as np

from simdb.errors import CorruptError, InputError


cdef extern from "Python.h":
    """
    #if PY_VERSION_HEX < 0x030C0000
    #define make_ready(text) PyUnicode_READY(text)
    #else
    #define make_ready(text) 0
    #endif
    """
    int make_ready(object text) except -1
    bint PyUnicode_IS_ASCII(object text)
    const void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    object PyUnicode_AsUTF8String(object text)
    object PyUnicode_DecodeUTF8(const char *content, Py_ssize_t size, const char *errors)
    const char *PyBytes_AS_STRING(object content)
    Py_ssize_t PyBytes_GET_SIZE(object content)
    object PyBytes_FromStringAndSize(const char *content, Py_ssize_t size)
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1
    object PyLong_FromLongLong(long long number)
    object PyLong_FromUnsignedLongLong(unsigned long long number)

cdef extern from "cpu.h" nogil:
    int cpu_best()

cdef extern from "select.h" nogil:
    void arrange_select(int variant)

cdef extern from "permute.h" nogil:
    struct arrange_rotations:
        pass

    arrange_rotations arrange_leading(uint64_t mask)
    arrange_rotations arrange_trailing(uint64_t mask)
    void arrange_permute(
        const uint64_t *words, int64_t count, const arrange_rotations *rotations, uint64_t *out
    )

cdef extern from "sort.h" nogil:
    size_t arrange_sort_scratch(int64_t count)
    void arrange_sort(uint64_t *keys, uint32_t *ordinals, int64_t count, void *scratch)

cdef extern from "merge.h" nogil:
    struct arrange_sorted:
        const uint64_t *keys
        const uint32_t *ordinals
        int64_t start
        int64_t stop

    void arrange_merge(
        arrange_sorted left, arrange_sorted right, uint64_t *keys, uint32_t *ordinals
    )

cdef extern from "keep.h" nogil:
    int64_t arrange_keep(
        const uint64_t *keys, const uint32_t *ordinals, int64_t count, const uint8_t *dead,
        int64_t dead_size, uint64_t *keys_out, uint32_t *ordinals_out
    )

cdef extern from "directory.h" nogil:
    enum:
        ARRANGE_HEADER_BITS_MAX

    void arrange_directory(const uint64_t *keys, int64_t count, int header_bits, uint32_t *out)

cdef extern from "descent.h" nogil:
    int64_t arrange_descent(const uint64_t *keys, int64_t count)

cdef extern from "forest.h" nogil:
    void arrange_plant(uint32_t *parents, int64_t count)
    int64_t arrange_join(
        uint32_t *parents, int64_t count, const uint32_t *left, const uint32_t *right,
        int64_t pairs
    )
    void arrange_label(uint32_t *parents, int64_t count, uint32_t *labels)

cdef extern from "identifiers.h" nogil:
    enum:
        ARRANGE_ID_BYTES_MAX
        ARRANGE_INT_BYTES

    struct arrange_segment:
        int64_t first
        int64_t count
        const uint32_t *offsets
        const uint8_t *content
        int64_t size

    enum arrange_outcome:
        ARRANGE_FOUND
        ARRANGE_MISSING
        ARRANGE_TORN

    arrange_outcome arrange_locate_one(
        const arrange_segment *segments, int64_t segment_count, int64_t ordinal,
        const uint8_t **form, int64_t *length
    )
    int64_t arrange_locate(
        const arrange_segment *segments, int64_t segment_count, const uint32_t *ordinals,
        int64_t count, const uint8_t **forms, int64_t *offsets, arrange_outcome *outcome
    )
    void arrange_gather(
        const uint8_t *const *forms, const int64_t *offsets, int64_t count, uint8_t *content
    )
    void arrange_equal(
        const uint8_t *const *forms, const int64_t *offsets, int64_t count,
        const int64_t *given_offsets, const uint8_t *given, uint8_t *is_equal
    )
    void arrange_hash(
        const uint8_t *content, const int64_t *offsets, int64_t count, uint64_t *hashes
    )
    bint arrange_are_within(const int64_t *offsets, int64_t count, int64_t size)
    int64_t arrange_put(uint8_t *out, char tag, const void *content, int64_t length)
    int64_t arrange_put_int(uint8_t *out, char tag, uint64_t number)
    uint64_t arrange_take_int(const uint8_t *content)

ORDINAL_COUNT_MAX = 2**32  # ordinals are uint32

cdef uint8_t NOTHING = 0
cdef list VARIANTS = ["scalar", "avx2", "avx512"][: cpu_best() + 1]
cdef str used = VARIANTS[cpu_best()]

arrange_select(cpu_best())


def variants():
    """Names of the variants this processor can run, the slowest ("scalar") first."""
    return list(VARIANTS)


def select(str variant not None):
    """Use `variant` from now on; returns the name of the one in use before."""
    global used
    if variant not in VARIANTS:
        raise ValueError(f"no variant {variant!r}; there are: {', '.join(VARIANTS)}")
    before = used
    arrange_select(VARIANTS.index(variant))
    used = variant
    return before


def permute(const uint64_t[::1] fingerprints not None, mask, uint64_t[::1] out not None):
    """Keys of a table: the bits in `mask` moved to the front, each group in its old order."""
    cdef arrange_rotations rotations = arrange_leading(checked_mask(mask))
    check_room(out.shape[0], fingerprints.shape[0], "words")
    if fingerprints.shape[0]:
        with nogil:
            arrange_permute(&fingerprints[0], fingerprints.shape[0], &rotations, &out[0])


def restore(const uint64_t[::1] keys not None, mask, uint64_t[::1] out not None):
    """The opposite of `permute`."""
    cdef arrange_rotations rotations = arrange_trailing(checked_mask(mask))
    check_room(out.shape[0], keys.shape[0], "words")
    if keys.shape[0]:
        with nogil:
            arrange_permute(&keys[0], keys.shape[0], &rotations, &out[0])


def sort(uint64_t[::1] keys not None, uint32_t[::1] ordinals not None):
    """Sort both columns in place by key; entries with equal keys keep their order (stable)."""
    cdef uint8_t[::1] scratch
    check_table(keys.shape[0], ordinals.shape[0])
    if keys.shape[0] < 2:
        return
    # From numpy, which asks for huge pages: touching small ones costs a third of the time.
    scratch = np.empty(arrange_sort_scratch(keys.shape[0]), np.uint8)
    with nogil:
        arrange_sort(&keys[0], &ordinals[0], keys.shape[0], &scratch[0])


def merge(
    const uint64_t[::1] left_keys not None,
    const uint32_t[::1] left_ordinals not None,
    const uint64_t[::1] right_keys not None,
    const uint32_t[::1] right_ordinals not None,
    uint64_t[::1] keys not None,
    uint32_t[::1] ordinals not None,
):
    """Merge two sorted columns into `keys` and `ordinals`; on equal keys the left comes first."""
    cdef arrange_sorted left = arrange_sorted(NULL, NULL, 0, left_keys.shape[0])
    cdef arrange_sorted right = arrange_sorted(NULL, NULL, 0, right_keys.shape[0])
    check_table(left_keys.shape[0], left_ordinals.shape[0])
    check_table(right_keys.shape[0], right_ordinals.shape[0])
    check_table(keys.shape[0], ordinals.shape[0])
    check_room(keys.shape[0], left.stop + right.stop, "entries")
    if keys.shape[0] == 0:
        return
    if left.stop:
        left.keys, left.ordinals = &left_keys[0], &left_ordinals[0]
    if right.stop:
        right.keys, right.ordinals = &right_keys[0], &right_ordinals[0]
    with nogil:
        arrange_merge(left, right, &keys[0], &ordinals[0])


def keep(
    const uint64_t[::1] keys not None,
    const uint32_t[::1] ordinals not None,
    const uint8_t[::1] dead not None,
    uint64_t[::1] keys_out not None,
    uint32_t[::1] ordinals_out not None,
):
    """Copy the entries whose ordinal's bit is not set in `dead`; returns how many."""
    cdef int64_t kept
    check_table(keys.shape[0], ordinals.shape[0])
    check_table(keys_out.shape[0], ordinals_out.shape[0])
    if keys_out.shape[0] < keys.shape[0]:
        check_room(keys_out.shape[0], keys.shape[0], "entries")
    if keys.shape[0] == 0:
        return 0
    with nogil:
        kept = arrange_keep(
            &keys[0], &ordinals[0], keys.shape[0], bytes_of(dead), dead.shape[0], &keys_out[0],
            &ordinals_out[0]
        )
    if kept < 0:
        raise ValueError(f"an ordinal has no bit among {dead.shape[0]} bytes")
    return kept


def directory(const uint64_t[::1] keys not None, header_bits, uint32_t[::1] out not None):
    """Position of the first key at or above each header: uint32[2**header_bits + 1]."""
    cdef const uint64_t *first = &keys[0] if keys.shape[0] else NULL
    cdef int bits
    if not 0 <= header_bits <= ARRANGE_HEADER_BITS_MAX:
        limit = ARRANGE_HEADER_BITS_MAX
        raise ValueError(f"header_bits is {header_bits}, not from 0 to {limit}")
    bits = operator.index(header_bits)
    check_room(out.shape[0], 2**header_bits + 1, "positions")
    if keys.shape[0] >= ORDINAL_COUNT_MAX:
        raise ValueError(f"{keys.shape[0]} keys; a directory counts up to {ORDINAL_COUNT_MAX - 1}")
    with nogil:
        arrange_directory(first, keys.shape[0], bits, &out[0])


def first_descent(const uint64_t[::1] keys not None):
    """Position of the first key that is smaller than the one before it, or -1."""
    cdef int64_t position = -1
    if keys.shape[0]:
        with nogil:
            position = arrange_descent(&keys[0], keys.shape[0])
    return position


cdef class Forest:
    """Union-find over 0 .. count - 1."""

    cdef uint32_t *parents
    cdef int64_t count

    def __cinit__(self, count):
        if not 0 <= count <= ORDINAL_COUNT_MAX:
            raise ValueError(f"count is {count}, not from 0 to {ORDINAL_COUNT_MAX}")
        self.count = operator.index(count)
        self.parents = <uint32_t *>malloc(max(self.count, 1) * sizeof(uint32_t))
        if self.parents == NULL:
            raise MemoryError(f"no memory for a forest of {count} numbers")
        with nogil:
            arrange_plant(self.parents, self.count)

    def __dealloc__(self):
        free(self.parents)

    def join(self, const uint32_t[::1] left not None, const uint32_t[::1] right not None):
        """Put left[i] and right[i] into one component, for every i."""
        cdef int64_t wrong = -1
        if left.shape[0] != right.shape[0]:
            raise ValueError(f"{left.shape[0]} left and {right.shape[0]} right ends")
        if left.shape[0]:
            with nogil:
                wrong = arrange_join(
                    self.parents, self.count, &left[0], &right[0], left.shape[0]
                )
        if wrong >= 0:
            number = max(left[wrong], right[wrong])
            raise ValueError(f"number {number} is not among {self.count}")

    def labels(self):
        """The smallest member of each number's component: uint32[count]."""
        labels = np.empty(self.count, np.uint32)
        cdef uint32_t[::1] out = labels
        if self.count:
            with nogil:
                arrange_label(self.parents, self.count, &out[0])
        return labels


def encode_ids(ids):
    """Stored form of user ids: offsets int64[n + 1] into the bytes, the bytes, hashes uint64[n]."""
    # A tuple cannot change while it is read, whatever the methods of its members do.
    cdef tuple given = tuple(ids)
    cdef Forms forms = Forms()
    cdef Py_ssize_t i
    offsets = np.zeros(len(given) + 1, np.int64)
    hashes = np.empty(len(given), np.uint64)
    cdef int64_t[::1] offsets_out = offsets
    cdef uint64_t[::1] hashes_out = hashes
    for i in range(len(given)):
        forms.put(given[i], i)
        offsets_out[i + 1] = forms.used
    content = np.empty(forms.used, np.uint8)
    if len(given):
        with nogil:
            arrange_hash(forms.content, &offsets_out[0], hashes_out.shape[0], &hashes_out[0])
        content[:] = <uint8_t[: forms.used]>forms.content
    return offsets, content, hashes


def decode_ids(const int64_t[::1] offsets not None, const uint8_t[::1] content not None):
    """The ids, as Python objects, of consecutive stored forms."""
    cdef const uint8_t *stored = bytes_of(content)
    cdef Py_ssize_t i
    check_offsets(offsets, content)
    cdef list ids = [None] * (offsets.shape[0] - 1)
    for i in range(offsets.shape[0] - 1):
        ids[i] = decode(stored + offsets[i], offsets[i + 1] - offsets[i])
    return ids


cdef class Identifiers:
    """Stored ids by ordinal, over segments of consecutive ordinals."""

    cdef arrange_segment *segments
    cdef int64_t count
    cdef list kept

    def __cinit__(self, segments):
        cdef tuple given = tuple(segments)
        cdef int64_t stop = 0
        self.kept = []
        self.segments = <arrange_segment *>malloc(
            max(len(given), 1) * sizeof(arrange_segment)
        )
        if self.segments == NULL:
            raise MemoryError(f"no memory for {len(given)} segments")
        for first, offsets, content in given:
            self.add(first, offsets, content, stop)
            stop = self.segments[self.count - 1].first + self.segments[self.count - 1].count

    def __dealloc__(self):
        free(self.segments)

    cdef int add(
        self, first, const uint32_t[::1] offsets, const uint8_t[::1] content, int64_t stop
    ) except -1:
        if offsets is None or content is None:
            raise TypeError(f"the segment of ordinal {first} is not two arrays")
        if offsets.shape[0] == 0:
            raise ValueError(f"the segment of ordinal {first} has no offsets")
        if first < stop:
            raise ValueError(f"the segment of ordinal {first} does not begin after {stop - 1}")
        if first + offsets.shape[0] - 1 > ORDINAL_COUNT_MAX:
            last = first + offsets.shape[0] - 2
            raise ValueError(f"the segment of ordinal {first} ends after {last}")
        self.segments[self.count] = arrange_segment(
            first, offsets.shape[0] - 1, &offsets[0], bytes_of(content), content.shape[0]
        )
        self.count += 1
        self.kept.append((offsets, content))
        return 0

    def gather(self, const uint32_t[::1] ordinals not None):
        """Copies of the stored forms of `ordinals` (which are all present), in that order."""
        cdef Located located = self.locate(ordinals)
        content = np.empty(located.offsets[located.count], np.uint8)
        cdef uint8_t[::1] out = content
        if out.shape[0]:
            with nogil:
                arrange_gather(located.forms, &located.offsets[0], located.count, &out[0])
        return np.asarray(located.offsets), content

    def decode(self, const uint32_t[::1] ordinals not None):
        """The ids themselves."""
        # Copied first, because the copy asks for memory ahead.
        return decode_ids(*self.gather(ordinals))

    def decode_one(self, ordinal):
        """One id, fast."""
        cdef const uint8_t *form = NULL
        cdef int64_t length = 0
        cdef arrange_outcome outcome
        cdef object exact = ordinal if type(ordinal) is int else operator.index(ordinal)
        cdef int overflow = 0
        cdef int64_t number = PyLong_AsLongLongAndOverflow(exact, &overflow)
        if overflow:
            raise ValueError(f"ordinal {ordinal} lies in no segment")
        outcome = arrange_locate_one(self.segments, self.count, number, &form, &length)
        if outcome != ARRANGE_FOUND:
            raise_lost(outcome, ordinal)
        return decode(form, length)

    def equal(
        self,
        const uint32_t[::1] ordinals not None,
        const int64_t[::1] offsets not None,
        const uint8_t[::1] content not None,
    ):
        """1 where the stored form of ordinals[i] is content[offsets[i]:offsets[i + 1]], else 0."""
        check_offsets(offsets, content)
        if offsets.shape[0] != ordinals.shape[0] + 1:
            raise ValueError(f"{offsets.shape[0]} offsets for {ordinals.shape[0]} ordinals")
        cdef Located located = self.locate(ordinals)
        cdef const uint8_t *given = bytes_of(content)
        is_equal = np.empty(located.count, np.uint8)
        cdef uint8_t[::1] out = is_equal
        if located.count:
            with nogil:
                arrange_equal(
                    located.forms, &located.offsets[0], located.count, &offsets[0], given, &out[0]
                )
        return is_equal

    cdef Located locate(self, const uint32_t[::1] ordinals):
        cdef Located located = Located(ordinals.shape[0])
        cdef int64_t wrong = -1
        cdef arrange_outcome outcome = ARRANGE_FOUND
        if located.count:
            with nogil:
                wrong = arrange_locate(
                    self.segments, self.count, &ordinals[0], located.count, located.forms,
                    &located.offsets[0], &outcome
                )
        if wrong >= 0:
            raise_lost(outcome, ordinals[wrong])
        return located


cdef class Located:
    """Where some stored forms are, and the offsets of their copies."""

    cdef const uint8_t **forms
    cdef int64_t[::1] offsets
    cdef int64_t count

    def __cinit__(self, int64_t count):
        self.count = count
        self.offsets = np.zeros(count + 1, np.int64)
        self.forms = <const uint8_t **>malloc(max(count, 1) * sizeof(uint8_t *))
        if self.forms == NULL:
            raise MemoryError(f"no memory to find {count} ids")

    def __dealloc__(self):
        free(self.forms)


cdef class Forms:
    """Stored forms of ids, one after the other."""

    cdef uint8_t *content
    cdef int64_t used
    cdef int64_t room

    def __dealloc__(self):
        free(self.content)

    cdef int put(self, object id, Py_ssize_t position) except -1:
        if self.used + 1 + ARRANGE_ID_BYTES_MAX > self.room:
            self.make_room()
        if isinstance(id, str):
            make_ready(id)
            if PyUnicode_IS_ASCII(id):
                self.put_content(b"s", PyUnicode_DATA(id), PyUnicode_GET_LENGTH(id), position)
            else:
                encoded = encode(id, position)
                self.put_content(
                    b"s", PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded), position
                )
        elif isinstance(id, bytes):
            self.put_content(b"b", PyBytes_AS_STRING(id), PyBytes_GET_SIZE(id), position)
        else:
            self.put_int(id, position)
        return 0

    cdef int put_content(
        self, char tag, const void *content, Py_ssize_t length, Py_ssize_t position
    ) except -1:
        if length == 0:
            raise InputError(f"id {position} is empty")
        if length > ARRANGE_ID_BYTES_MAX:
            limit = ARRANGE_ID_BYTES_MAX
            raise InputError(f"id {position} has {length:,} bytes, over {limit:,}")
        self.used += arrange_put(self.content + self.used, tag, content, length)
        return 0

    cdef int put_int(self, object id, Py_ssize_t position) except -1:
        cdef int overflow = 0
        cdef long long number
        if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
            raise InputError(f"id {position} is {type(id).__name__}, not str, bytes or int")
        id = operator.index(id)
        number = PyLong_AsLongLongAndOverflow(id, &overflow)
        if not overflow:
            self.used += arrange_put_int(self.content + self.used, b"i", number)
        elif 0 < id < 2**64:
            self.used += arrange_put_int(self.content + self.used, b"u", id)
        else:
            raise InputError(f"id {position} is {id}, not from -2**63 to 2**64 - 1")
        return 0

    cdef int make_room(self) except -1:
        cdef int64_t room = 2 * (self.room + 1 + ARRANGE_ID_BYTES_MAX)
        content = <uint8_t *>realloc(self.content, room)
        if content == NULL:
            raise MemoryError(f"no memory for {room} bytes of ids")
        self.content = content
        self.room = room
        return 0


cdef object encode(object text, Py_ssize_t position):
    try:
        return PyUnicode_AsUTF8String(text)
    except UnicodeEncodeError as error:
        raise InputError(f"id {position} has a lone surrogate: {error}") from error


cdef object decode(const uint8_t *form, int64_t length):
    cdef const char *content = <const char *>form + 1
    cdef char tag = form[0] if length else 0
    length -= 1
    if tag == b"s":
        return decode_text(content, length)
    if tag == b"b":
        return PyBytes_FromStringAndSize(content, length)
    if tag == b"i" and length == ARRANGE_INT_BYTES:
        return PyLong_FromLongLong(<int64_t>arrange_take_int(form + 1))
    if tag == b"u" and length == ARRANGE_INT_BYTES:
        return PyLong_FromUnsignedLongLong(arrange_take_int(form + 1))
    stored = PyBytes_FromStringAndSize(<const char *>form, 1) if length >= 0 else b""
    raise CorruptError(f"a stored id has tag {stored!r} and {max(length, 0)} bytes of content")


cdef object decode_text(const char *content, int64_t length):
    try:
        return PyUnicode_DecodeUTF8(content, length, NULL)
    except UnicodeDecodeError as error:
        raise CorruptError(f"a stored id is not valid UTF-8: {error}") from error


cdef int raise_lost(arrange_outcome outcome, ordinal) except -1:
    if outcome == ARRANGE_MISSING:
        raise ValueError(f"ordinal {ordinal} lies in no segment")
    raise CorruptError(f"the stored id of ordinal {ordinal} is torn")


cdef const uint8_t *bytes_of(const uint8_t[::1] content) noexcept nogil:
    """Where the bytes are; somewhere, where there are none."""
    return &content[0] if content.shape[0] else &NOTHING


cdef uint64_t checked_mask(mask) except? 0:
    if not 0 <= mask < 2**64:
        raise ValueError(f"mask is {mask}, not from 0 to 2**64 - 1")
    return operator.index(mask)


cdef int check_table(Py_ssize_t keys, Py_ssize_t ordinals) except -1:
    if keys != ordinals:
        raise ValueError(f"{keys} keys with {ordinals} ordinals")
    return 0


cdef int check_room(Py_ssize_t room, Py_ssize_t wanted, str what) except -1:
    if room != wanted:
        raise ValueError(f"room for {room} {what}, not for {wanted}")
    return 0


cdef int check_offsets(const int64_t[::1] offsets, const uint8_t[::1] content) except -1:
    if offsets.shape[0] == 0 or not arrange_are_within(
        &offsets[0], offsets.shape[0] - 1, content.shape[0]
    ):
        raise ValueError(f"offsets do not ascend within the {content.shape[0]} bytes")
    return 0
