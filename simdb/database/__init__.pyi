from simdb.database import maintenance as maintenance
from simdb.database.clusters.arrays import as_bits as as_bits, distinct as distinct
from simdb.database.clusters.find import (
    CONNECTED as CONNECTED,
    STAR as STAR,
    Places as Places,
    check_policy as check_policy,
)
from simdb.database.database import Database as Database, Mergeable as Mergeable, open as open
from simdb.database.functions import (
    distance as distance,
    find_all as find_all,
    find_clusters as find_clusters,
    fit_bits as fit_bits,
    similarities as similarities,
    similarity as similarity,
)
from simdb.database.reading import Reading as Reading
from simdb.database.search import buckets as buckets, question as question
from simdb.database.search.buckets import first_equal_rows as first_equal_rows
from simdb.database.search.couples import (
    Batches as Batches,
    Couples as Couples,
    Searched as Searched,
    couples_of as couples_of,
    judged_by as judged_by,
    sorted_tables as sorted_tables,
    sweep_table as sweep_table,
    sweep_tables as sweep_tables,
)
from simdb.database.search.filters import Where as Where
from simdb.database.search.judge import (
    ESTIMATE as ESTIMATE,
    EXACT as EXACT,
    EXACT_RECALL as EXACT_RECALL,
    NUMBERS as NUMBERS,
    VERIFICATIONS as VERIFICATIONS,
    Remembered as Remembered,
    TextsByOrdinal as TextsByOrdinal,
    candidate_similarities as candidate_similarities,
    estimate_deviation as estimate_deviation,
)
from simdb.database.search.planning import plan_without_database as plan_without_database
from simdb.database.search.question import Question as Question
from simdb.database.search.rows import Rows as Rows
from simdb.database.sharding.shard import Division as Division
from simdb.database.sharding.sharded_database import (
    ShardedDatabase as ShardedDatabase,
    open_sharded as open_sharded,
)
from simdb.database.sharding.writing import (
    finish_sharded as finish_sharded,
    write_shard as write_shard,
)
from simdb.database.snapshot import Snapshot as Snapshot
from simdb.database.state.incoming import (
    SKETCHED_DOCUMENTS as SKETCHED_DOCUMENTS,
    EncodedIds as EncodedIds,
    as_list as as_list,
    joined as joined,
    note_unstorable as note_unstorable,
    numbered as numbered,
    sketch_all as sketch_all,
)
from simdb.database.state.kinds import with_fingerprints as with_fingerprints
from simdb.database.state.store import settled as settled
from simdb.database.stored import (
    Lookups as Lookups,
    id_key as id_key,
    insert_sketched as insert_sketched,
    note_seen as note_seen,
)
from simdb.database.transaction import WriteTransaction as WriteTransaction
from simdb.database.write.conflicts import ERROR as ERROR
