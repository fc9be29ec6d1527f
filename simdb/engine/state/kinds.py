"""The kind of a database, by what its options say of a document."""

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
    """Return the kind of a database with these options, which are `settled`."""
    return KINDS[type(options.sketch)](options)
