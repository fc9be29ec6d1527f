from simdb.database.search.methods import (
    bands as bands,
    exhaustive as exhaustive,
    hashes as hashes,
    permuted as permuted,
    polytopes as polytopes,
    probing as probing,
)
