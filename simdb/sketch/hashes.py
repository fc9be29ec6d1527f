"""Hashes: the documents of a database of `Bits`, in all their forms, and their sketches.

A hash is a row of bytes, the most significant bit first:

* Bytes are taken unchanged.
* Hexadecimal text is as `bytes.hex()` returns it; capital letters and a leading 0x are accepted.
* A whole number is `int.from_bytes(hash, "big")`.
* Flags of any shape have the most significant bit first, in C order, as `numpy.packbits` packs them
  and the `str` of an imagehash.ImageHash prints them.
* An object with `.hash` has one of these forms there.

Documents of one form are read together.  If that fails, they are read one by one: either they have
several forms, or the message names the first document that is not a hash.
"""

import math
import re
from base64 import b64encode
from binascii import unhexlify
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from simdb.core import arrays, kernel
from simdb.core.arrow import ByteColumn, TextColumn, listed
from simdb.core.bits import FINGERPRINT_BITS
from simdb.core.checks import instance, shown
from simdb.core.decoding import CONTROL_BYTES, UTF8, byte_column, decoded_column
from simdb.core.dtypes import U8, Array
from simdb.core.errors import InputError
from simdb.core.options import AnySketch, Bits, Simhash
from simdb.core.text_sketch import TextSketch
from simdb.sketch.pipeline import check_errors

KINDS = (
    "bytes, hexadecimal text, a whole number, flags (a bool array), packed bits (a uint8 array), an"
    " object with .hash such as imagehash.ImageHash, or a simdb.Fingerprint"
)
PREFIXES = ("0x", "0X")
LOWER = np.uint8(32)  # the bit that capital letters lack
NO_DIGIT = re.compile("[^0-9A-Fa-f]")
BASE64 = re.compile("[A-Za-z0-9+/_-]+={0,2}")
INVALID = "\ufffd"  # in place of bytes that are not UTF-8
LOOKED_AT = 8  # documents that are examined; all should be of one kind
UNSURE = 0  # instead of a size, for bytes that may be text in an unknown encoding
WORD_BYTES = 4  # of the words from which the key of a hash is made


class HashSketcher:
    """A maker of sketches for a database of hashes.

    The vector of a document is its hash.  The fingerprint is a hash of the vector, so that equal
    hashes have equal fingerprints.  A hash of 64 bits is a ready fingerprint, without a vector.
    """

    def __init__(self, options: Bits) -> None:
        """Read every document by `options`."""
        self.options = options

    def prepare(self) -> None:
        """Do nothing: hashes need no package."""

    def sketch(
        self, documents: Any, *, errors: str = "strict", start: int = 0, is_query: bool = False
    ) -> arrays.Sketches:
        """Return the sketches of many documents, with levels if `is_query` and they have 64 bits.

        `documents`: see `read_hashes`.  `errors` is checked but has no effect.
        """
        check_errors(errors)
        hashes = read_hashes(documents, self.options.bits, start)
        if hashes.ndim == 1:
            return arrays.Sketches.bare(hashes, is_query=is_query)
        if not is_query and isinstance(documents, np.ndarray | arrays.Fingerprints):
            hashes = hashes.copy()  # the caller may change the array before it is stored
        rows = hashes.shape[1] // WORD_BYTES
        if len(hashes) == 1:
            keys = kernel.keys_of_one(hashes, stored_bits=8 * WORD_BYTES, bands=1, rows=rows)
            return arrays.Sketches(keys, hashes, arrays.ONE_STATE[arrays.WEIGHTED])
        words = arrays.aligned(hashes.view("<u4"), np.uint32)
        keys = kernel.band_keys(words, bands=1, rows=rows)[:, 0]
        states = np.full(len(hashes), arrays.WEIGHTED, np.uint8)
        return arrays.Sketches(np.ascontiguousarray(keys), hashes, states)

    def fingerprints(
        self, documents: Iterable[Any], *, errors: str = "strict", threads: int = 1
    ) -> arrays.Fingerprints:
        """Return many documents as hashes (see `read_hashes`); `threads` has no effect."""
        check_errors(errors)
        return arrays.Fingerprints(read_hashes(documents, self.options.bits))

    def features(self, document: Any, *, errors: str = "strict") -> None:
        """Return None: a hash has no features."""


def read_hashes(documents: Any, bits: int, start: int = 0) -> Array:
    """Return many documents as hashes: uint8[n, bits / 8], or uint64[n] if `bits` is 64.

    `documents` is one of:

    * an iterable of documents, which may have several forms
    * `Fingerprints`
    * an array of packed bits, uint8[n, bits / 8], of words, uint64[n, bits / 64], of flags,
      [n, ...], or of texts
    * an Arrow column of bytes or texts

    Raises InputError for a document that is not a hash of `bits` bits; messages number documents
    from `start`.
    """
    is_fit = isinstance(documents, arrays.Fingerprints) and documents.size == bits
    if is_fit and not documents.is_empty().any():
        return np.asarray(documents.bits)
    if not isinstance(documents, list | tuple | TextColumn):
        arrays.check_many(documents, "documents")
        is_array = isinstance(documents, np.ndarray)
        documents = _of_axes(documents, bits) if is_array else _listed(documents)
    rows = _read_together(documents, bits) if len(documents) else np.empty((0, bits // 8), np.uint8)
    if rows is None:
        rows = _rows([_read(each, bits, at) for at, each in enumerate(documents, start)], bits)
    return arrays.words_of(rows)


def hash_bits(hashes: Any) -> int | None:
    """Return the bits of a hash of a sketch or an array; None for anything else."""
    if isinstance(hashes, Bits):
        return hashes.bits
    if isinstance(hashes, arrays.Fingerprint | arrays.Fingerprints):
        return None if hashes.size == FINGERPRINT_BITS else hashes.size
    rows = arrays.packed_rows(hashes) if isinstance(hashes, np.ndarray) else None
    return (
        8 * rows.shape[1] if rows is not None and arrays.is_hash_size(8 * rows.shape[1]) else None
    )


def likely_bits(document: Any) -> int | None:
    """Return the number of bits of a document that looks like a hash; None for any other."""
    document = getattr(document, "hash", document)
    if not isinstance(document, bytes | str):
        return hash_bits(document[None] if isinstance(document, np.ndarray) else document)
    # Arrow columns give texts as bytes.
    text = document if isinstance(document, str) else document.decode("latin-1")
    digits = text[2:] if text.startswith(PREFIXES) else text
    is_text = not NO_DIGIT.search(digits)
    bits = 4 * len(digits) if is_text else 8 * len(text) * isinstance(document, bytes)
    return bits if arrays.is_hash_size(bits) else None


def sketch_of_texts(verb: str, sketch: Any, *given: Any) -> AnySketch:
    """Return the sketch of a verb for texts; None means `Simhash()`.

    Raises OptionError for an object that is not a sketch, and InputError for a sketch of hashes, or
    if the first documents in `given` are hashes.  Texts are never hashes, nor are bytes in UTF-8.
    """
    chosen = Simhash() if sketch is None else sketch
    instance("sketch", chosen, TextSketch, "simdb.Simhash() or simdb.Minhash()")
    for documents in (chosen, *given):
        is_listed = isinstance(documents, list | tuple)
        sizes = set(map(_bits_of_no_text, documents[:LOOKED_AT])) if is_listed else set()
        sizes.discard(UNSURE)
        bits = sizes.pop() if len(sizes) == 1 else hash_bits(documents)
        if bits is not None:
            raise InputError(
                f"{verb} needs texts, and hashes of {bits} bits have no words; they match by"
                f" distance=, with sketch=simdb.Bits({bits}) in simdb.deduplicate or a database"
            )
    return chosen


def _bits_of_no_text(document: Any) -> int | None:
    """Return the bits of a document that looks like a hash; None for a text, or `UNSURE`."""
    if isinstance(document, bytes) and INVALID in document.decode("utf-8", "replace"):
        return likely_bits(document) if CONTROL_BYTES.search(document) else UNSURE
    return None if isinstance(document, str | bytes) else likely_bits(document)


def _of_axes(array: Array, bits: int) -> Any:
    """Return an array with an axis of documents and one or more others, or documents as a list."""
    kind, size = array.dtype.kind, 8 * array.itemsize
    if np.ma.is_masked(array):
        return list(array)
    if array.ndim > 1:
        return array
    if kind == "S" and size == bits:  # a list would lose trailing zeros
        return arrays.aligned(array, array.dtype).view(np.uint8).reshape(-1, array.itemsize)
    if kind == "u" and size == bits == FINGERPRINT_BITS:
        return array[:, None]
    if kind in "biufc" and size < bits and len(array):
        raise InputError(
            f"documents are {arrays.describe(array)}, which can be one hash of {bits} bits, but not"
            " many; put a single one into a list, or stack several into an array of two axes"
        )
    return np.char.decode(array, "latin-1").tolist() if kind == "S" else array.tolist()


def _listed(documents: Any) -> Any:
    """Return an Arrow column of bytes or texts as a column, and other documents as a list."""
    column = byte_column(documents)
    if column is None:
        found = listed(documents)
        return list(documents) if found is None else found
    return decoded_column(column, UTF8, "replace") if column.is_string else column


def _read_together(documents: Any, bits: int) -> U8 | None:
    """Return one or more documents of one form as rows of bytes; None unless all are hashes."""
    if isinstance(documents, np.ndarray):
        return _of_array(documents, bits)
    if isinstance(documents, TextColumn | ByteColumn):
        if (documents.lengths != documents.lengths[0]).any():
            return None
        texts = TextColumn(documents.addresses, documents.lengths, documents.owners)
        content, is_text = b"".join(texts.memory()), isinstance(documents, TextColumn)
        return _of_content(content, len(documents), bits, is_text=is_text)
    kinds = set(map(type, documents))
    kind = kinds.pop()
    if kinds:
        return None
    if kind is int and min(documents) >= 0 and max(documents) < 1 << bits:
        return _rows([each.to_bytes(bits // 8, "big") for each in documents], bits)
    if kind is np.ndarray and len({(each.dtype, each.shape) for each in documents}) == 1:
        return _of_array(np.stack(documents), bits)
    if kind not in (bytes, str) or len(set(map(len, documents))) > 1:
        return None
    joined: Any = kind().join(documents)
    content = joined if kind is bytes else joined.encode("utf-8", "replace")
    return _of_content(content, len(documents), bits, is_text=kind is str)


def _of_content(content: bytes, count: int, bits: int, *, is_text: bool) -> U8 | None:
    """Return the hashes in `count` joined bytes objects or hexadecimal texts of one length."""
    size = bits // 8
    if not is_text:
        return _rows([content], bits) if len(content) == count * size else None
    if len(content) == count * (2 * size + 2):
        codes = np.frombuffer(content, np.uint8).reshape(count, -1)
        if (codes[:, 0] != ord("0")).any() or (codes[:, 1] | LOWER != ord("x")).any():
            return None
        content = codes[:, 2:].tobytes()
    try:
        return _rows([unhexlify(content)], bits) if len(content) == count * 2 * size else None
    except ValueError:
        return None


def _rows(documents: Sequence[bytes], bits: int) -> U8:
    return np.frombuffer(b"".join(documents), np.uint8).reshape(-1, bits // 8)


def _of_array(array: Array, bits: int) -> U8 | None:
    """Return the hashes of an array of packed bits, words or flags, of two or more axes."""
    if array.dtype.kind in "iuf" and math.prod(array.shape[1:]) == bits:
        flags = array == 1
        return arrays.packed_rows(flags) if (flags | (array == 0)).all() else None
    rows = arrays.packed_rows(array)
    return rows if rows is not None and 8 * rows.shape[1] == bits else None


def _read(document: Any, bits: int, number: int) -> bytes:
    """Return one document as the bytes of its hash; an InputError names its number."""
    size, holder = bits // 8, ""
    if not isinstance(document, np.ndarray | arrays.Fingerprint) and hasattr(document, "hash"):
        holder, document = f"{arrays.describe(document)}, whose .hash is ", document.hash
    document = None if np.ma.is_masked(document) else document
    fault = f"{arrays.describe(document)}; a document is {KINDS}"
    if isinstance(document, bytes | bytearray | memoryview):
        if len(document) == size:
            return bytes(document)
        wanted = f"has {size}, or is text of hexadecimal digits"
        fault = f"{len(document)} bytes; a hash of {bits} bits {wanted}"
    elif isinstance(document, str):
        digits = document[2:] if document.startswith(PREFIXES) else document
        if len(digits) == 2 * size and not NO_DIGIT.search(digits):
            return bytes.fromhex(digits)
        fault = _fault_of_text(digits, bits)
    elif isinstance(document, np.ndarray):
        rows = _of_array(document[None], bits) if document.ndim else None
        if rows is not None:
            return rows.tobytes()
        wanted = f"{bits} flags, each 0 or 1, or {size} bytes, uint8[{size}]"
        fault = f"{arrays.describe(document)}; a hash of {bits} bits is {wanted}"
    elif isinstance(document, arrays.Fingerprint):
        if document.size == bits and not document.is_empty:
            return bytes(document)
        fault = f"a fingerprint of {document.size} bits; a hash has {bits} here"
        fault = "an empty fingerprint, without a hash; leave it out" if document.is_empty else fault
    elif isinstance(document, int | np.integer) and not isinstance(document, bool):
        if 0 <= document < 1 << bits:
            return int(document).to_bytes(size, "big")
        fault = f"{shown(document)}; a hash of {bits} bits is 0 .. 2**{bits} - 1"
    elif document is None or (isinstance(document, float) and document != document):
        fault = f"{'NoneType' if document is None else 'nan'} (a null); leave nulls out"
    raise InputError(f"document {number} is {holder}{fault}")


def _fault_of_text(digits: str, bits: int) -> str:
    """Describe a text without 0x that is not a hash, for a message."""
    other = NO_DIGIT.search(digits)
    if other is None:
        fault = f"hexadecimal text of {len(digits)} digits; a hash of {bits} bits has {bits // 4}"
        # Base64 has 6 bits a character, so hexadecimal text that is read as base64 grows by half.
        is_longer = 2 * len(digits) == 3 * bits // 4
        if is_longer and not NO_DIGIT.search(b64encode(unhexlify(digits)).decode()):
            fault += (
                "; this was read as base64, and is none; leave out base64.b64decode(text), or"
                " --base64"
            )
        return fault
    is_base64 = BASE64.fullmatch(digits) and len(digits.rstrip("=")) == -(-bits // 6)
    remedy = "; if it is base64, give base64.b64decode(text), or --base64" if is_base64 else ""
    # Commands count messages with an equal beginning, up to here.
    fault = f"not hexadecimal text; {other[0]!r} is not a hexadecimal digit"
    return f"{fault}, and a hash of {bits} bits has {bits // 4}{remedy}"
