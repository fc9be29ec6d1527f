from simdb.database.state import (
    incoming as incoming,
    signature_kind as signature_kind,
)
