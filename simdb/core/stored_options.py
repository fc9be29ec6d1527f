"""Stored options: options and resources of a database, as they are stored, read and compared.

The stored threshold is what the sketch estimates: of a fingerprint the cosine, also where users see
Jaccard's similarity in its place.  So a file means the same in every version, whatever they see.
The stored form says that similarities are corrected for the rounding of weights, and how scripts
without spaces are cut.  Versions before the first release left this out, and are refused.

*Resources* are stop words, and versions of other packages.  A new version of a package may change
its stop words, its stems or the text that it finds in a page.  Then a document would get another
fingerprint than the stored copy of the same document.  So a database stores the stop words
themselves, and of the other packages the version, to warn if another version is installed.
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
POLYTOPES = "polytopes"  # the only option that can change
MINHASH, BITS = "minhash", "bits"
USUAL = Options()
# These are stored only if they are not the usual ones.
SELDOM = (POLYTOPES, "keep_clusters", "keep_times", "passages", "features", "texts", "fields")
# A threshold is read to so many digits, so that it is the one that was given; thresholds that
# differ by less than the second number are taken for the same.
DIGITS, NEARLY_SAME = 12, 0.0005
# What unreleased versions stored, in databases whose runs could be without tables by distance.
UNRELEASED = "distance_tables"
# Options of which None means the stored value.
CHOSEN = ("sketch.idf", "sketch.order", POLYTOPES, *BANDED)


def encode_options(options: Options, idf: Any = None) -> dict[str, Any]:
    """Make a map of plain types that can be stored, with `idf` in place of the IDF table.

    Options that this kind of database does not use are left out.
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
    """Leave out options of `others`, and those that are seldom not as usual."""
    unused = {*others, *(name for name in SELDOM if encoded[name] == getattr(USUAL, name))}
    return {name: value for name, value in encoded.items() if name not in unused}


@expecting("the options of the database")
def decode_options(stored: Mapping[str, Any], idf: IdfTable | None = None) -> Options:
    """Read what `encode_options` made; raise FormatError for an option that is not known."""
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
    """Return stored options as this version stores them, if unreleased versions stored them."""
    changed = {"blocks": 1, "leading": 1} if UNRELEASED in stored else {}
    return {name: value for name, value in stored.items() if name != UNRELEASED} | changed


def decode_dumped(stored: Mapping[str, Any], idf: IdfTable | None) -> Options:
    """Read the options of a dump, also of a version before the first release.

    Those compared similarities that were not corrected.  The threshold becomes the corrected one,
    under which the same documents match.
    """
    settings = moved(stored)
    if a_map(stored["sketch"]).get(KIND) == BITS:
        return decode_options(settings)
    sketch = {BY_CHARACTER: CJK, **a_map(stored["sketch"])}
    if KIND not in sketch and CORRECTED not in settings:
        settings |= {CORRECTED: True, "similarity": corrected_one(a_number(stored["similarity"]))}
    return decode_options({**settings, "sketch": sketch}, idf)


def decode_settings(stored: Any, where: str) -> dict[str, Any]:
    """Read stored `feature_settings`; of one that is not stored, the earliest value, or default."""
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
    """Raise FormatError for names that are not `known`: a later version has written them."""
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
    """Name each option in which `wanted` differs from `stored`, with both values.

    A sketch without an IDF table means the stored table, hashes without an order of their bits the
    stored order, and numbers of tables that are None the stored numbers.  The usual blocks mean the
    stored ones, if those are usual in any database, and so do the usual header bits.  The newest
    edition means the stored one.
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
    """Return every option by its name, those of the sketch one by one if it `has_parts`."""
    values = {each.name: getattr(options, each.name) for each in fields(Options)}
    if not has_parts:
        return values
    sketch = values.pop("sketch")
    return {f"sketch.{each.name}": getattr(sketch, each.name) for each in fields(sketch)} | values


@dataclass(frozen=True, slots=True)
class Resources:
    """The `stop_words` of the language in the options, and `versions` of packages by name."""

    stop_words: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


def encode_resources(resources: Resources) -> dict[str, Any]:
    """Make a map of plain types that can be stored."""
    return {"stop_words": list(resources.stop_words), "versions": dict(resources.versions)}


@expecting("the value 'resources'")
def decode_resources(stored: Mapping[str, Any]) -> Resources:
    """Read what `encode_resources` made; raise FormatError for a field that is not known."""
    _check_known(a_map(stored), ("stop_words", "versions"), "the database has resources")
    versions = a_map(stored.get("versions", {}))
    return Resources(
        tuple(a_text(word) for word in stored.get("stop_words", ())),
        {name: a_text(version) for name, version in versions.items()},
    )
