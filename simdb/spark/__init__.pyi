from simdb.spark.clustering import clusters as clusters, drop_duplicates as drop_duplicates
from simdb.spark.frames import exists as exists, session as session
from simdb.spark.pairing import pairs as pairs, plan as plan
from simdb.spark.sketching import fingerprints as fingerprints, signatures as signatures
from simdb.spark.storing import query as query, write_database as write_database
