from simdb.database.clusters import find as find
