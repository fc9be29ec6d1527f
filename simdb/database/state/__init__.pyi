from simdb.database.state import (
    bits_kind as bits_kind,
    incoming as incoming,
    signature_kind as signature_kind,
)
