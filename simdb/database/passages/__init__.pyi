from simdb.database.passages import pairs as pairs, queries as queries
