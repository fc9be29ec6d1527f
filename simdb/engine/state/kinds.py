"""Kinds: the kind of a database, fingerprints or signatures, that its options call for."""

from collections.abc import Callable

from simdb.engine import state
from simdb.engine.state.fingerprint_kind import FingerprintKind
from simdb.engine.state.view import Kind
from simdb.settings.minhash import Minhash
from simdb.settings.options import Options, Simhash

KINDS: dict[type, Callable[[Options], Kind]] = {
    Simhash: FingerprintKind,
    Minhash: lambda options: state.signature_kind.SignatureKind(options),
}


def kind_of(options: Options) -> Kind:
    """Return the kind of a database with these options, which must be `settled`."""
    return KINDS[type(options.sketch)](options)
