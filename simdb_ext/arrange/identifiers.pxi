"""Stored ids of documents: the second part of `_arrange.pyx`."""

from libc.stdlib cimport realloc
from libc.string cimport memcpy


NUMBERS = 2**64  # numbers that a stored int can hold


cdef const uint8_t *key_of(bytes key) except? NULL:
    """Return the start of the key for hashing ids, or NULL if it is empty."""
    if len(key) not in (0, ARRANGE_KEY_BYTES):
        raise ValueError(f"the key has {len(key)} bytes, not {ARRANGE_KEY_BYTES} or none")
    return <const uint8_t *> PyBytes_AS_STRING(key) if key else NULL


def encode_ids(ids, bytes key not None=b""):
    """Return the stored form of ids: offsets int64[n + 1], content uint8, hashes uint64[n]."""
    # A tuple cannot change while it is read, even if methods of its members are called.
    cdef tuple given = tuple(ids)
    cdef Forms forms = Forms()
    cdef const uint8_t *secret = key_of(key)
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
            arrange_hash(
                forms.content, &offsets_out[0], hashes_out.shape[0], secret, &hashes_out[0]
            )
        content[:] = <uint8_t[: forms.used]>forms.content
    return offsets, content, hashes


def hash_ids(
    const int64_t[::1] offsets not None, const uint8_t[::1] content not None,
    bytes key not None=b""
):
    """Return the hashes of stored forms: uint64[n]."""
    cdef const uint8_t *secret = key_of(key)
    check_offsets(offsets, content)
    hashes = np.empty(offsets.shape[0] - 1, np.uint64)
    cdef uint64_t[::1] out = hashes
    if out.shape[0]:
        with nogil:
            arrange_hash(bytes_of(content), &offsets[0], out.shape[0], secret, &out[0])
    return hashes


def decode_ids(const int64_t[::1] offsets not None, const uint8_t[::1] content not None):
    """Return the ids of stored forms as Python objects."""
    cdef const uint8_t *stored = bytes_of(content)
    cdef Py_ssize_t i
    check_offsets(offsets, content)
    cdef list ids = [None] * (offsets.shape[0] - 1)
    for i in range(offsets.shape[0] - 1):
        ids[i] = decode(stored + offsets[i], offsets[i + 1] - offsets[i])
    return ids


def describe_ids(const uint32_t[::1] offsets not None, content not None):
    """Return the row that stored ints form, () if they form none, None if not all are ints."""
    cdef arrange_integers how
    cdef int64_t count = offsets.shape[0] - 1
    cdef bint are_of_one_tag, are_ints
    cdef const uint8_t[::1] given
    cdef const uint8_t *forms
    if not are_long(offsets, len(content)):
        return None
    given = content
    forms = bytes_of(given)
    with nogil:
        are_of_one_tag = arrange_are_integers(forms, count, &how)
        are_ints = are_of_one_tag or arrange_are_ints(forms, count)
    if are_of_one_tag and how.width == 0:
        return how.tag, how.first, how.step
    return () if are_ints else None


def row_at(tuple row not None, place):
    """Return the row that begins at entry `place` of `row`."""
    tag, first, step = row
    return tag, (first + place * step) % NUMBERS, step


def join_rows(tuple left, count, tuple right, length):
    """Return what `describe_ids` would return for `count` forms and then `length` further forms."""
    if left is None or right is None:
        return None
    if not left or not right:
        return ()
    tag, first, step = left
    if count == 1:
        step = (right[1] - first) % NUMBERS
    span = min(step, NUMBERS - step) * (count + length - 1)
    is_row = row_at((tag, first, step), count)[:2] == right[:2] and 0 < span < NUMBERS
    return (tag, first, step) if is_row and (length == 1 or step == right[2]) else ()


def row_ids(tuple row not None, count):
    """Return the first `count` ids of a row, packed."""
    tag, first, step = row
    head = np.array([tag, first, step], "<u8").view(np.uint8)
    return PackedIds(head, count)


def pack_ids(const uint32_t[::1] offsets not None, content not None):
    """Return stored forms packed, or None unless they are ints with one tag."""
    cdef arrange_integers how
    cdef int64_t count = offsets.shape[0] - 1
    cdef const uint8_t[::1] given
    cdef const uint8_t *forms
    cdef bint are_integers
    if not are_long(offsets, len(content)):
        return None
    given = content
    forms = bytes_of(given)
    with nogil:
        are_integers = arrange_are_integers(forms, count, &how)
    if not are_integers:
        return None
    packed = np.empty(ARRANGE_HEAD_BYTES + count * how.width, np.uint8)
    cdef uint8_t[::1] out = packed
    with nogil:
        arrange_pack(forms, count, how, &out[0])
    return PackedIds(packed, count)


cdef class PackedIds:
    """Ids that are ints, packed."""

    cdef readonly object packed
    cdef readonly int64_t count

    def __init__(self, const uint8_t[::1] packed not None, int64_t count):
        cdef arrange_integers how
        if packed.shape[0] >= ARRANGE_HEAD_BYTES and count >= 0:
            how = arrange_head(&packed[0])
            if (
                how.tag in (b"i", b"u") and how.width <= ARRANGE_INT_BYTES
                and packed.shape[0] - ARRANGE_HEAD_BYTES == how.width * count
            ):
                self.packed, self.count = np.asarray(packed), count
                return
        raise ValueError(f"{packed.shape[0]} bytes are no {count} packed ids")

    @property
    def forms(self):
        """Return the stored forms of the ids, back to back."""
        cdef const uint8_t[::1] packed = self.packed
        content = np.empty(ARRANGE_FORM_BYTES * self.count, np.uint8)
        cdef uint8_t[::1] out = content
        if self.count:
            with nogil:
                arrange_unpack(&packed[0], self.count, &out[0])
        return content


def find_in_rows(
    const uint64_t[:, ::1] rows not None, const int64_t[::1] offsets not None,
    const uint8_t[::1] content not None, const uint8_t[::1] dead, int64_t[::1] found not None
):
    """Write to `found` the ordinal of each id that lies in a row."""
    cdef const uint8_t *given = bytes_of(content)
    cdef const uint8_t *bits = NULL
    cdef int64_t size = 0
    if dead is not None:
        bits, size = bytes_of(dead), dead.shape[0]
    check_offsets(offsets, content)
    check_room(found.shape[0], offsets.shape[0] - 1, "ids")
    if rows.shape[1] * sizeof(uint64_t) != sizeof(arrange_row):
        raise ValueError(f"a row has {rows.shape[1]} numbers")
    if rows.shape[0] and found.shape[0]:
        with nogil:
            arrange_find_in_rows(
                <const arrange_row *>&rows[0, 0], rows.shape[0], &offsets[0], given,
                found.shape[0], bits, size, &found[0]
            )


def candidates(
    const uint64_t[::1] hashes not None, const uint32_t[::1] directory not None,
    const uint32_t[::1] ordinals not None, const uint8_t[::1] dead
):
    """Return the ordinals that may have the id of each hash: starts int64[n + 1], ordinals."""
    cdef const uint8_t *bits = NULL
    cdef int64_t size = 0
    if dead is not None:
        bits, size = bytes_of(dead), dead.shape[0]
    cdef int64_t count = hashes.shape[0]
    cdef arrange_bare_table table
    table.header_bits = max(len(directory) - 1, 1).bit_length() - 1
    if directory.shape[0] != (1 << table.header_bits) + 1:
        raise ValueError(f"a directory has {directory.shape[0]} entries")
    table.size, table.directory = ordinals.shape[0], &directory[0]
    if table.size:
        table.ordinals = &ordinals[0]
    starts = np.zeros(count + 1, np.int64)
    cdef int64_t[::1] starts_out = starts
    cdef uint32_t[::1] out
    if count:
        with nogil:
            arrange_candidates(&table, &hashes[0], count, bits, size, &starts_out[0], NULL)
    found = np.empty(starts_out[count], np.uint32)
    out = found
    if out.shape[0]:
        with nogil:
            arrange_candidates(&table, &hashes[0], count, bits, size, &starts_out[0], &out[0])
    return starts, found


cdef bint are_long(const uint32_t[::1] offsets, int64_t size) except -1:
    """Return whether each of the stored forms in `size` bytes has the length of a stored int."""
    cdef int64_t i, count = offsets.shape[0] - 1
    cdef bint are = count >= 0 and count * ARRANGE_FORM_BYTES == size and offsets[0] == 0
    if are:
        with nogil:
            for i in range(count):
                are &= offsets[i + 1] == (i + 1) * ARRANGE_FORM_BYTES
    return are


cdef class Identifiers:
    """The stored ids of documents by ordinal, in segments of consecutive ordinals."""

    cdef arrange_segment *segments
    cdef int64_t count
    cdef list owners

    def __cinit__(self, segments, Identifiers earlier=None):
        cdef tuple given = tuple(segments)
        cdef int64_t stop = 0, before = 0 if earlier is None else earlier.count
        self.owners = []
        self.segments = <arrange_segment *>malloc(
            max(before + len(given), 1) * sizeof(arrange_segment)
        )
        if self.segments == NULL:
            raise MemoryError(f"no memory for {before + len(given)} segments")
        if before > 0:
            memcpy(self.segments, earlier.segments, before * sizeof(arrange_segment))
            stop = self.segments[before - 1].first + self.segments[before - 1].count
            self.count = before
            self.owners.append(earlier)
        for segment in given:
            if len(segment) == 2:
                self.add_packed(segment[0], segment[1], stop)
            else:
                first, offsets, content = segment
                self.add(first, offsets, content, stop)
            stop = self.segments[self.count - 1].first + self.segments[self.count - 1].count

    def __dealloc__(self):
        free(self.segments)

    cdef int add(
        self, first, const uint32_t[::1] offsets, const uint8_t[::1] content, int64_t stop
    ) except -1:
        if offsets is None or content is None:
            raise TypeError(f"the segment of ordinal {first} needs two arrays: offsets and content")
        if offsets.shape[0] == 0:
            raise ValueError(f"the segment of ordinal {first} has no offsets")
        self.put(
            arrange_segment(
                first, offsets.shape[0] - 1, &offsets[0], bytes_of(content), content.shape[0]
            ),
            stop,
        )
        self.owners.append((offsets, content))
        return 0

    cdef int add_packed(self, first, PackedIds ids, int64_t stop) except -1:
        cdef const uint8_t[::1] packed = None if ids is None else ids.packed
        if packed is None:
            raise TypeError(f"the segment of ordinal {first} needs packed ids")
        self.put(arrange_segment(first, ids.count, NULL, &packed[0], packed.shape[0]), stop)
        self.owners.append(packed)
        return 0

    cdef int put(self, arrange_segment segment, int64_t stop) except -1:
        first, last = segment.first, segment.first + segment.count - 1
        if first < stop:
            raise ValueError(f"the segment of ordinal {first} does not begin after {stop - 1}")
        if last >= ORDINAL_COUNT_MAX:
            raise ValueError(f"the segment of ordinal {first} ends after {last}")
        self.segments[self.count] = segment
        self.count += 1
        return 0

    def followed_by(self, first, offsets, content):
        """Return these segments and one more, whose first ordinal is `first`."""
        return Identifiers([(first, offsets, content)], earlier=self)

    def gather(self, const uint32_t[::1] ordinals not None):
        """Return copies of the stored forms of `ordinals`: offsets int64[n + 1], content uint8."""
        cdef Located located = self.locate(ordinals)
        content = np.empty(located.offsets[located.count], np.uint8)
        cdef uint8_t[::1] out = content
        if out.shape[0]:
            with nogil:
                arrange_gather(located.forms, &located.offsets[0], located.count, &out[0])
        return np.asarray(located.offsets), content

    def decode(self, const uint32_t[::1] ordinals not None):
        """Return the ids of `ordinals` as Python objects."""
        # The forms are copied first, because copying requests memory in advance.
        return decode_ids(*self.gather(ordinals))

    def decode_one(self, ordinal):
        """Return the id of one ordinal; faster than `decode`."""
        found = self.find_one(ordinal)
        if found is None:
            raise_lost(ARRANGE_MISSING, ordinal)
        return found

    def find_one(self, ordinal):
        """Return the id of one ordinal, or None if no segment has it."""
        cdef arrange_form form
        cdef int64_t length = 0
        cdef arrange_outcome outcome
        cdef object exact = ordinal if type(ordinal) is int else operator.index(ordinal)
        cdef int overflow = 0
        cdef int64_t number = PyLong_AsLongLongAndOverflow(exact, &overflow)
        if overflow:
            return None
        outcome = arrange_locate_one(self.segments, self.count, number, &form, &length)
        if outcome == ARRANGE_MISSING:
            return None
        if outcome != ARRANGE_FOUND:
            raise_lost(outcome, ordinal)
        if form.stored == NULL:
            return decode_int(form.tag, form.number)
        return decode(form.stored, length)

    def find(
        self,
        const uint32_t[::1] ordinals not None,
        const int64_t[::1] starts not None,
        const int64_t[::1] offsets not None,
        const uint8_t[::1] content not None,
    ):
        """Return the ordinal of each id among its candidates: int64[m], -1 if none has the id."""
        check_offsets(offsets, content)
        if offsets.shape[0] != starts.shape[0] or starts[0] != 0 or not arrange_are_within(
            &starts[0], starts.shape[0] - 1, ordinals.shape[0]
        ):
            wanted = f"begin at 0 and ascend, one for each of {offsets.shape[0]} offsets"
            raise ValueError(f"the starts of {ordinals.shape[0]} candidates must {wanted}")
        cdef int64_t wrong = -1
        cdef arrange_outcome outcome = ARRANGE_FOUND
        cdef const uint8_t *given = bytes_of(content)
        found = np.empty(offsets.shape[0] - 1, np.int64)
        cdef int64_t[::1] out = found
        if ordinals.shape[0] and out.shape[0]:
            with nogil:
                wrong = arrange_find(
                    self.segments, self.count, &ordinals[0], &starts[0], out.shape[0],
                    &offsets[0], given, &out[0], &outcome
                )
        else:
            found[:] = -1
        if wrong >= 0:
            raise_lost(outcome, ordinals[wrong])
        return found

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
    """The addresses of some stored ids, and the offsets at which their copies will begin."""

    cdef arrange_form *forms
    cdef int64_t[::1] offsets
    cdef int64_t count

    def __cinit__(self, int64_t count):
        self.count = count
        self.offsets = np.zeros(count + 1, np.int64)
        self.forms = <arrange_form *>malloc(max(count, 1) * sizeof(arrange_form))
        if self.forms == NULL:
            raise MemoryError(f"no memory to find {count} ids")

    def __dealloc__(self):
        free(self.forms)


cdef class Forms:
    """Stored forms of ids that are being written, back to back."""

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
            raise InputError(f"id {position} is {shown(id)}, not from -2**63 to 2**64 - 1")
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
    if (tag == b"i" or tag == b"u") and length == ARRANGE_INT_BYTES:
        return decode_int(tag, arrange_take_int(form + 1))
    stored = PyBytes_FromStringAndSize(<const char *>form, 1) if length >= 0 else b""
    raise CorruptError(f"a stored id has tag {stored!r} and {max(length, 0)} bytes of content")


cdef object decode_int(char tag, uint64_t number):
    if tag == b"i":
        return PyLong_FromLongLong(<int64_t>number)
    return PyLong_FromUnsignedLongLong(number)


cdef object decode_text(const char *content, int64_t length):
    try:
        return PyUnicode_DecodeUTF8(content, length, NULL)
    except UnicodeDecodeError as error:
        raise CorruptError(f"a stored id is not valid UTF-8: {error}") from error


cdef int raise_lost(arrange_outcome outcome, ordinal) except -1:
    if outcome == ARRANGE_MISSING:
        raise CorruptError(f"ordinal {ordinal} lies in no segment")
    raise CorruptError(f"the stored id of ordinal {ordinal} is torn")


cdef int check_offsets(const int64_t[::1] offsets, const uint8_t[::1] content) except -1:
    if offsets.shape[0] == 0 or not arrange_are_within(
        &offsets[0], offsets.shape[0] - 1, content.shape[0]
    ):
        raise ValueError(f"offsets must ascend within the {content.shape[0]} bytes of content")
    return 0


# Last, because `simdb` imports this module, and this import may itself start to import `simdb`.
from simdb.core.checks import shown
from simdb.core.errors import CorruptError, InputError
