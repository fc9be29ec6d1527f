"""Stored options: options and resources of a database, as they are stored, read and compared.

The stored threshold is in the unit that the sketch estimates.  For a fingerprint that is the
cosine, even if users see the Jaccard similarity, so a file means the same in every version.  The
stored form also says that similarities are corrected for the rounding of weights, and how scripts
without spaces are cut.  Files of versions before the first release lack both and are refused.

*Resources* are stop words, and versions of other packages.  A new version of a package may change
its stop words, its stems or the text that it finds in a page.  A document would then no longer get
the fingerprint of its stored copy.  So a database stores the stop words themselves and the versions
of the other packages, and warns if another version is installed.
"""

from collections.abc import Collection, Mapping
from typing import Any

from simdb.core.checks import a_map, a_number, a_text, expecting, shown
from simdb.core.errors import FormatError, OptionError
from simdb.core.options import (
    BANDED,
    PERMUTED,
    USUAL_BLOCKS,
    WEIGHTED_BLOCKS,
    Bits,
    Minhash,
    Options,
    Simhash,
)
from simdb.core.text_sketch import CJK, EARLIER, EDITION, IdfTable
from simdb.core.values import asdict, dataclass, field, fields, replace
from simdb.core.vector_form import corrected_one

KIND = "kind"  # the stored kind of the sketch; a Simhash if it is absent
CORRECTED = "corrected"
BY_CHARACTER = "by_character"
POLYTOPES = "polytopes"  # the only option that can change later
MINHASH, BITS = "minhash", "bits"
USUAL = Options()
# These options are stored only if they differ from the defaults.
SELDOM = (POLYTOPES, "keep_clusters", "keep_times", "passages", "features", "texts", "fields")
# Rounding to DIGITS restores the threshold that was given.  Thresholds that differ by less than
# NEARLY_SAME count as equal.
DIGITS, NEARLY_SAME = 12, 0.0005
# An option of unreleased versions, whose runs could lack tables by distance.
UNRELEASED = "distance_tables"
# For these options, None means the stored value.
CHOSEN = ("sketch.idf", "sketch.order", POLYTOPES, *BANDED)


def encode_options(options: Options, idf: Any = None) -> dict[str, Any]:
    """Make a map of plain types for storing, with `idf` in place of the IDF table.

    It has no options that this kind of database does not use.
    """
    if options.is_hashes:
        encoded = asdict(options)
        encoded["sketch"] = {KIND: BITS} | {each: encoded["sketch"][each] for each in Bits.OWN}
        return _without_unused(encoded, BANDED)
    encoded = asdict(replace(options, sketch=replace(options.sketch, idf=None)))
    sketch = encoded["sketch"]
    sketch["idf"] = idf
    given = sketch.pop("hash", None)
    if given is not None:
        sketch["hash"] = given["check"]
    for name in [name for name, earlier in EARLIER.items() if sketch[name] == earlier]:
        del sketch[name]
    if options.is_minhash:
        sketch[KIND] = MINHASH
    else:
        encoded[CORRECTED] = True
        encoded["similarity"] = options.scale.to_cosine(options.similarity)
    return _without_unused(encoded, PERMUTED if options.is_minhash else BANDED)


def _without_unused(encoded: dict[str, Any], others: Collection[str]) -> dict[str, Any]:
    """Return `encoded` without the options `others`, and without `SELDOM` ones at the default."""
    unused = {*others, *(name for name in SELDOM if encoded[name] == getattr(USUAL, name))}
    return {name: value for name, value in encoded.items() if name not in unused}


@expecting("the options of the database")
def decode_options(stored: Mapping[str, Any], idf: IdfTable | None = None) -> Options:
    """Decode the map of `encode_options`; raise FormatError for an unknown option."""
    stored = a_map(stored)
    sketch_settings = dict(a_map(stored.get("sketch", {})))
    kinds: dict[Any, type[Simhash | Minhash | Bits]] = {
        None: Simhash, MINHASH: Minhash, BITS: Bits
    }  # fmt: skip
    named = sketch_settings.pop(KIND, None)
    if named not in kinds:
        raise FormatError(
            f"the database was made with a sketch that this version does not know: {named!r:.50};"
            " open it with a newer simdb"
        )
    kind = kinds[named]
    if kind is not Bits:
        sketch_settings = EARLIER | sketch_settings | {"idf": idf}
    settings = {name: value for name, value in stored.items() if name != "sketch"}
    if UNRELEASED in settings:
        raise FormatError(
            f"the database was stored by a version that was not released, with the option"
            f" {UNRELEASED!r}; move it to this one (simdb rebuild)"
        )
    is_corrected = kind is not Simhash or settings.pop(CORRECTED, None) is True
    for given, known in ((settings, Options), (sketch_settings, kind)):
        _check_known(given, {each.name for each in fields(known)}, "the database has options")
    if not is_corrected or (kind is not Bits and BY_CHARACTER not in sketch_settings):
        raise FormatError(
            "the database was stored by a version before the first release, without the option"
            f" {BY_CHARACTER if is_corrected else CORRECTED!r}; dump it with the version that wrote"
            " it (simdb dump) and load the dump with this one (simdb load)"
        )
    made = Options(sketch=kind(**sketch_settings), **settings)
    if "similarity" in settings:
        made = replace(made, similarity=round(made.scale.from_cosine(made.similarity), DIGITS))
    if not made.table_count:
        raise ValueError("the sketch is a Minhash, but no bands are stored")
    return made


def moved(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Convert options that unreleased versions stored into the form of this version."""
    changed = {"blocks": 1, "leading": 1} if UNRELEASED in stored else {}
    return {name: value for name, value in stored.items() if name != UNRELEASED} | changed


def decode_dumped(stored: Mapping[str, Any], idf: IdfTable | None) -> Options:
    """Decode the options of a dump, which a version before the first release may have written.

    Such versions did not correct similarities.  Their threshold is corrected here, so that the same
    documents match.
    """
    settings = moved(stored)
    if a_map(stored["sketch"]).get(KIND) == BITS:
        return decode_options(settings)
    sketch = {BY_CHARACTER: CJK, **a_map(stored["sketch"])}
    if KIND not in sketch and CORRECTED not in settings:
        settings |= {CORRECTED: True, "similarity": corrected_one(a_number(stored["similarity"]))}
    return decode_options({**settings, "sketch": sketch}, idf)


def decode_settings(stored: Any, where: str) -> dict[str, Any]:
    """Decode stored `feature_settings`; a missing setting gets its earliest value or default."""
    with expecting(f"the settings of features in {where}"):
        stored, known = a_map(stored), Simhash().feature_settings
        if BY_CHARACTER not in stored:
            raise FormatError(
                f"{where} was written by a version before the first release, without the setting"
                f" {BY_CHARACTER!r}; make the table again from the documents"
            )
        _check_known(stored, known, f"{where} has options")
        lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
        return {**known, **EARLIER, **stored, **lists}


def _check_known(given: Collection[str], known: Collection[str], what: str) -> None:
    """Raise FormatError for names that are not `known`, which a later version has written."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise FormatError(
            f"{what} that this version does not know: {', '.join(unknown)}; open it with a newer"
            " simdb"
        )


def check_same(stored: Options, wanted: Options, where: str) -> None:
    """Raise OptionError naming each option in which `wanted` differs; see `differences`."""
    differing = differences(stored, wanted)
    if differing:
        raise OptionError(
            f"{where} was created with other options: {'; '.join(differing)}."
            " Open it without options=, or create another database"
        )


def differences(stored: Options, wanted: Options) -> list[str]:
    """Describe each option in which `wanted` differs from `stored`, with both values.

    A missing IDF table, order of bits or number of tables means the stored value.  So do the newest
    edition and the default `header_offset`.  The default number of blocks means the stored number
    if that is a default of any kind of database.
    """
    is_alike = type(stored.sketch) is type(wanted.sketch)
    if is_alike and wanted.sketch.edition == EDITION and wanted.sketch.idf is None:
        wanted = replace(wanted, sketch=replace(wanted.sketch, edition=stored.sketch.edition))
    olds, news = (_named(each, has_parts=is_alike) for each in (stored, wanted))
    olds["polytopes"] = olds["polytopes"] or 0
    if wanted.blocks == wanted.usual_blocks and stored.blocks in (USUAL_BLOCKS, WEIGHTED_BLOCKS):
        del news["blocks"]
    if wanted.header_offset == wanted.usual_header_offset:
        del news["header_offset"]
    if is_alike and abs(stored.similarity - wanted.similarity) < NEARLY_SAME:
        del news["similarity"]
    return [
        f"{name} is {shown(olds[name])}, not {shown(new)}"
        for name, new in news.items()
        if olds[name] != new and not (new is None and name in CHOSEN)
    ]


def _named(options: Options, *, has_parts: bool) -> dict[str, Any]:
    """Return every option by name; with `has_parts`, also each option of the sketch."""
    values = {each.name: getattr(options, each.name) for each in fields(Options)}
    if not has_parts:
        return values
    sketch = values.pop("sketch")
    return {f"sketch.{each.name}": getattr(sketch, each.name) for each in fields(sketch)} | values


@dataclass(frozen=True, slots=True)
class Resources:
    """The stop words of the language in the options, and the versions of packages by name."""

    stop_words: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


def encode_resources(resources: Resources) -> dict[str, Any]:
    """Make a map of plain types for storing."""
    return {"stop_words": list(resources.stop_words), "versions": dict(resources.versions)}


@expecting("the value 'resources'")
def decode_resources(stored: Mapping[str, Any]) -> Resources:
    """Decode the map of `encode_resources`; raise FormatError for an unknown field."""
    _check_known(a_map(stored), ("stop_words", "versions"), "the database has resources")
    versions = a_map(stored.get("versions", {}))
    return Resources(
        tuple(a_text(word) for word in stored.get("stop_words", ())),
        {name: a_text(version) for name, version in versions.items()},
    )
