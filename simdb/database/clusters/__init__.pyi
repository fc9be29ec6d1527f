from simdb.database.clusters import find as find, labels as labels, order as order
