"""Stored options: the options of a database as they are stored, and compared when it is opened.

An option that is younger than the format is stored only if it is used, so that older versions can
read what does not need it.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from simdb.decoding import a_map, expecting
from simdb.errors import FormatError, OptionError
from simdb.idf import IdfTable
from simdb.minhash import Minhash
from simdb.options import BANDED, PERMUTED, UNCORRECTED, Options, Simhash
from simdb.text_sketch import CJK, SPACELESS, TextSketch

KIND = "kind"  # the stored kind of the sketch; a Simhash if it is absent
CORRECTED = "corrected"
BY_CHARACTER = "by_character"
MINHASH = "minhash"


def encode_options(options: Options, idf: Any = None) -> dict[str, Any]:
    """Make a map of plain types that can be stored, with `idf` in place of the IDF table.

    An option that is younger than the format and not used is left out, so that older versions can
    read the map.
    """
    bare = replace(options, sketch=replace(options.sketch, idf=None))
    encoded = asdict(bare)
    encoded["sketch"] = encode_settings(encoded["sketch"]) | {"idf": idf}
    if not options.keeps_clusters:
        del encoded["keep_clusters"]
    if not options.keeps_times:
        del encoded["keep_times"]
    if options.polytopes is None:
        del encoded["polytopes"]
    if options.is_minhash or not options.corrected:
        del encoded[CORRECTED]
    if options.is_minhash:
        encoded["sketch"][KIND] = MINHASH
    for name in PERMUTED if options.is_minhash else BANDED:
        del encoded[name]
    return encoded


def decode_options(stored: Mapping[str, Any], idf: IdfTable | None = None) -> Options:
    """Read what `encode_options` made; raise FormatError for an option that is not known."""
    with expecting("the options of the database"):
        return _decoded_options(a_map(stored), idf)


def _decoded_options(stored: Mapping[str, Any], idf: IdfTable | None) -> Options:
    sketch_settings = dict(a_map(stored.get("sketch", {})))
    kinds: dict[Any, type[Simhash | Minhash]] = {None: Simhash, MINHASH: Minhash}
    named = sketch_settings.pop(KIND, None)
    if named not in kinds:
        raise FormatError(
            f"the database was made with a sketch that this version does not know: {named!r:.50};"
            " open it with a newer simdb"
        )
    kind = kinds[named]
    names = {each.name for each in fields(Options)}
    sketch_names = {each.name for each in fields(kind)}
    unknown = (set(stored) - names) | (set(sketch_settings) - sketch_names)
    if unknown:
        raise FormatError(
            f"the database was made with options that this version does not know:"
            f" {', '.join(sorted(unknown))}; open it with a newer simdb"
        )
    sketch_settings.setdefault(BY_CHARACTER, CJK)
    settings = {name: value for name, value in stored.items() if name != "sketch"}
    settings.setdefault(CORRECTED, kind is Minhash)
    made = Options(sketch=kind(**{**sketch_settings, "idf": idf}), **settings)
    if not made.table_count:
        raise ValueError("the sketch is a Minhash, but no bands are stored")
    return made


def encode_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Make a map of settings of a sketch that can be stored, without what old versions imply."""
    return {
        name: value
        for name, value in settings.items()
        if name != BY_CHARACTER or value == SPACELESS
    }


def decode_settings(stored: Any, where: str) -> dict[str, Any]:
    """Read stored `feature_settings`; a setting that is not stored gets its default.

    Without `by_character`, words are those of the versions that did not have it.
    """
    with expecting(f"the settings of features in {where}"):
        return _decoded_settings(a_map(stored), where)


def _decoded_settings(stored: Mapping[str, Any], where: str) -> dict[str, Any]:
    has_words = stored.get("unit", "words") == "words" and not stored.get("tokeniser")
    known = Simhash().feature_settings | {BY_CHARACTER: CJK if has_words else ""}
    unknown = set(stored) - set(known)
    if unknown:
        raise FormatError(
            f"{where} was made with options that this version does not know:"
            f" {', '.join(sorted(map(str, unknown)))}; use a newer simdb"
        )
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    return {**known, **stored, **lists}


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

    A sketch without an IDF table means the stored table, and numbers of tables that are None the
    stored numbers.  The default similarity means that of the stored database, whether it corrects
    similarities or not, and the default `by_character` that of a database of a version without it.
    """
    if not stored.corrected and wanted.corrected:
        similarity = UNCORRECTED.get(wanted.similarity, wanted.similarity)
        wanted = replace(wanted, corrected=False, similarity=similarity)
    if stored.sketch.by_character == CJK and wanted.sketch.by_character == SPACELESS:
        wanted = replace(wanted, sketch=replace(wanted.sketch, by_character=CJK))
    return [
        f"{name} is {old!r}, not {new!r}"
        for name, old, new in _flat_pairs(stored, wanted)
        if old != new and not (new is None and name in ("sketch.idf", "polytopes", *BANDED))
    ]


def _flat_pairs(left: Options, right: Options) -> list[tuple[str, Any, Any]]:
    """Give (name, value in `left`, value in `right`) of every option, also of the sketch."""
    pairs = []
    for each in fields(Options):
        old, new = getattr(left, each.name), getattr(right, each.name)
        if isinstance(old, TextSketch) and type(old) is type(new):
            pairs += [
                (f"sketch.{part.name}", getattr(old, part.name), getattr(new, part.name))
                for part in fields(old)
            ]
        elif each.name == "polytopes":
            pairs.append((each.name, old or 0, new))  # an older version stored none
        else:
            pairs.append((each.name, old, new))
    return pairs
