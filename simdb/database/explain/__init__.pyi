from simdb.database.explain import (
    fingerprints as fingerprints,
    signatures as signatures,
    stored as stored,
)
