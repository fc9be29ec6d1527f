"""Names of the files of a database; its directory holds nothing else."""

DATA_FILE = "data.mdb"
LMDB_LOCK = "lock.mdb"  # LMDB's table of readers
WRITER_LOCK = "writer.lock"
PRESENCE_LOCK = "presence.lock"
IDF_FILE = "idf.table"
# Names of unfinished files; each file is moved into place when it is complete.
NEW_FILE = "data.mdb.new"
COPY_FILE = "data.mdb.copy"
IDF_TEMPORARY = "idf.table.new"
# Says which databases in a directory are one sharded database; see `shards_file.py`.
SHARDS_FILE = "shards.json"
OWN_FILES = {
    DATA_FILE, LMDB_LOCK, WRITER_LOCK, PRESENCE_LOCK, IDF_FILE, NEW_FILE, COPY_FILE, IDF_TEMPORARY,
}  # fmt: skip
