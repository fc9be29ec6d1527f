from simdb.database.search.methods import (
    bands as bands,
    exhaustive as exhaustive,
    permuted as permuted,
    polytopes as polytopes,
    probing as probing,
)
