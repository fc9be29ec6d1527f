from simdb.storage import (
    by_ordinal as by_ordinal,
    check as check,
    codec as codec,
    contents as contents,
    file_map as file_map,
    following as following,
    idf_file as idf_file,
    layout as layout,
    merge as merge,
    metadata as metadata,
    rewriting as rewriting,
    salvage as salvage,
    shards_file as shards_file,
    transfer as transfer,
)
from simdb.storage.contents import (
    Contents as Contents,
    all_names as all_names,
    idf_checksum as idf_checksum,
    read_options as read_options,
    read_resources as read_resources,
    table_names as table_names,
)
from simdb.storage.delta import (
    NO_DOCUMENTS as NO_DOCUMENTS,
    Delta as Delta,
    DeltaView as DeltaView,
    Keying as Keying,
    StoredBatch as StoredBatch,
)
from simdb.storage.environment import Environment as Environment, Lease as Lease, Source as Source
from simdb.storage.field_codes import (
    FieldCodes as FieldCodes,
    FieldValues as FieldValues,
    StagedCodes as StagedCodes,
    coded_value as coded_value,
    codes_of as codes_of,
    wanted_codes as wanted_codes,
    whole_codes as whole_codes,
)
from simdb.storage.files import (
    COPY_FILE as COPY_FILE,
    DATA_FILE as DATA_FILE,
    DURABILITIES as DURABILITIES,
    IDF_FILE as IDF_FILE,
    LOCKS as LOCKS,
    NETWORK_TYPES as NETWORK_TYPES,
    NEW_FILE as NEW_FILE,
    OWN_FILES as OWN_FILES,
    SHARDS_FILE as SHARDS_FILE,
    MapFull as MapFull,
    TemporaryFolder as TemporaryFolder,
    check_directory as check_directory,
    check_name as check_name,
    closed as closed,
    directory_of as directory_of,
    file_mode as file_mode,
    file_system as file_system,
    file_times as file_times,
    is_database as is_database,
    is_new as is_new,
    is_shared as is_shared,
    made_beside as made_beside,
    prepare as prepare,
    sync_directory as sync_directory,
    translate as translate,
    translated as translated,
    write_whole as write_whole,
)
from simdb.storage.gate import Gate as Gate, Holder as Holder, WriteRight as WriteRight
from simdb.storage.manifest import (
    Manifest as Manifest,
    PassageInfo as PassageInfo,
    RunInfo as RunInfo,
    Unfinished as Unfinished,
    decode_manifest as decode_manifest,
    encode_manifest as encode_manifest,
    joined_ids as joined_ids,
)
from simdb.storage.membership import (
    Membership as Membership,
    groups_of as groups_of,
    rings as rings,
)
from simdb.storage.open_files import OpenFiles as OpenFiles, Presence as Presence
from simdb.storage.pages import REMEDY as REMEDY, problems_of_pages as problems_of_pages
from simdb.storage.passages import (
    NO_TABLE as NO_TABLE,
    Change as Change,
    GrainsByOrdinal as GrainsByOrdinal,
    Passages as Passages,
    check_rewritten as check_rewritten,
    entries_of_grains as entries_of_grains,
    living as living,
    renumbering as renumbering,
)
from simdb.storage.run import (
    ColumnPart as ColumnPart,
    ColumnParts as ColumnParts,
    FollowedKernel as FollowedKernel,
    LazyKernel as LazyKernel,
    Run as Run,
    Segment as Segment,
    as_segment as as_segment,
)
from simdb.storage.shards_file import Shard as Shard
from simdb.storage.table import (
    ENTRY_BYTES as ENTRY_BYTES,
    Put as Put,
    Sorting as Sorting,
    Table as Table,
    header_bits as header_bits,
    make_table as make_table,
    polytope_header_bits as polytope_header_bits,
    sorted_table as sorted_table,
    stored_kinds as stored_kinds,
)
from simdb.storage.tombstones import (
    ANY_CODE as ANY_CODE,
    Bitmap as Bitmap,
    LeftOut as LeftOut,
    Spare as Spare,
    Tombstones as Tombstones,
    encode_chunks as encode_chunks,
    is_deleted as is_deleted,
    live_count as live_count,
    live_ordinals as live_ordinals,
    with_deleted as with_deleted,
    with_room as with_room,
)
