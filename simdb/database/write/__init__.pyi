from simdb.database.write import idf as idf, storing as storing, write_state as write_state
