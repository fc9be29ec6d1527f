"""Kinds: the kind of a database, fingerprints or signatures, that its options call for."""

from simdb.engine.state.fingerprint_kind import FingerprintKind
from simdb.engine.state.signature_kind import SignatureKind
from simdb.engine.state.view import Kind
from simdb.minhash import Minhash
from simdb.options import Options, Simhash

KINDS: dict[type, type[FingerprintKind] | type[SignatureKind]] = {
    Simhash: FingerprintKind,
    Minhash: SignatureKind,
}


def kind_of(options: Options) -> Kind:
    """Return the kind of a database with these options, which must be `settled`."""
    return KINDS[type(options.sketch)](options)
