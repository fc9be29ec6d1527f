from simdb.storage import codec as codec, contents as contents, layout as layout
from simdb.storage.check import (
    REBUILD as REBUILD,
    RESTORE as RESTORE,
    check_counts as check_counts,
    check_delta as check_delta,
    check_idf as check_idf,
    check_metadata as check_metadata,
    check_runs as check_runs,
    check_strays as check_strays,
    check_times as check_times,
    check_values as check_values,
    check_written_values as check_written_values,
)
from simdb.storage.codec import checksum_of as checksum_of, encode_object as encode_object
from simdb.storage.contents import (
    Contents as Contents,
    all_names as all_names,
    idf_checksum as idf_checksum,
    load as load,
    make_room_for as make_room_for,
    read_manifest as read_manifest,
    read_options as read_options,
    read_resources as read_resources,
    stored_options as stored_options,
    table_names as table_names,
)
from simdb.storage.environment import file_map as file_map, registry as registry
from simdb.storage.environment.environment import Environment as Environment
from simdb.storage.environment.file_map import (
    DEFAULT_MAP_BYTES as DEFAULT_MAP_BYTES,
    LEAST_MAP_BYTES as LEAST_MAP_BYTES,
    MOST_MAP_BYTES as MOST_MAP_BYTES,
)
from simdb.storage.environment.gate import Gate as Gate, Holder as Holder, WriteRight as WriteRight
from simdb.storage.environment.registry import Lease as Lease
from simdb.storage.environment.subdatabases import (
    get_value as get_value,
    keys_from as keys_from,
    statistics_of as statistics_of,
)
from simdb.storage.files import location as location, shards_file as shards_file
from simdb.storage.files.idf_file import (
    read_idf as read_idf,
    read_own_idf as read_own_idf,
    salvaged_idf as salvaged_idf,
    write_idf as write_idf,
    write_own_idf as write_own_idf,
)
from simdb.storage.files.location import (
    NETWORK_TYPES as NETWORK_TYPES,
    TemporaryFolder as TemporaryFolder,
    check_name as check_name,
    closed as closed,
    directory_of as directory_of,
    file_system as file_system,
    is_database as is_database,
    prepare as prepare,
    sync_directory as sync_directory,
    write_whole as write_whole,
)
from simdb.storage.files.new_directory import made_beside as made_beside
from simdb.storage.files.open_files import OpenFiles as OpenFiles
from simdb.storage.files.pages import REMEDY as REMEDY, problems_of_pages as problems_of_pages
from simdb.storage.files.plain import (
    COPY_FILE as COPY_FILE,
    DATA_FILE as DATA_FILE,
    IDF_FILE as IDF_FILE,
    OWN_FILES as OWN_FILES,
    SHARDS_FILE as SHARDS_FILE,
    check_directory as check_directory,
    file_mode as file_mode,
    file_times as file_times,
    is_shared as is_shared,
)
from simdb.storage.files.shards_file import (
    LEFT_OVER as LEFT_OVER,
    SHARDS_MAX as SHARDS_MAX,
    UNFINISHED as UNFINISHED,
    Shard as Shard,
    ShardsFile as ShardsFile,
    digest_of as digest_of,
    has_shards_file as has_shards_file,
    shard_name as shard_name,
    strange_directories as strange_directories,
    write_shards_file as write_shards_file,
)
from simdb.storage.layout import (
    NOTE_NAME_BYTES_MAX as NOTE_NAME_BYTES_MAX,
    lean_names as lean_names,
)
from simdb.storage.membership import (
    Membership as Membership,
    groups_of as groups_of,
    rings as rings,
)
from simdb.storage.passages import (
    NO_TABLE as NO_TABLE,
    Change as Change,
    GrainsByOrdinal as GrainsByOrdinal,
    Passages as Passages,
    check_passages as check_passages,
    check_rewritten as check_rewritten,
    entries_of_grains as entries_of_grains,
    living as living,
    passage_keys as passage_keys,
    renumbering as renumbering,
    stored_passages as stored_passages,
    write_passages as write_passages,
)
from simdb.storage.records import metadata as metadata
from simdb.storage.records.delta import (
    NO_DOCUMENTS as NO_DOCUMENTS,
    Delta as Delta,
    DeltaView as DeltaView,
    Keying as Keying,
    StoredBatch as StoredBatch,
    concatenate as concatenate,
    delta_view as delta_view,
    encode_batch as encode_batch,
)
from simdb.storage.records.features import (
    Numbered as Numbered,
    check_features as check_features,
    encode_features as encode_features,
    pack as pack,
    read_features as read_features,
    renumbered_features as renumbered_features,
    unpack as unpack,
    whole_blocks as whole_blocks,
)
from simdb.storage.records.manifest import (
    Manifest as Manifest,
    PassageInfo as PassageInfo,
    RunInfo as RunInfo,
    Unfinished as Unfinished,
    decode_manifest as decode_manifest,
    encode_manifest as encode_manifest,
    merged_into as merged_into,
    renumbered as renumbered,
    with_passages as with_passages,
)
from simdb.storage.records.metadata import (
    NO_METADATA as NO_METADATA,
    TimeChange as TimeChange,
    changed_blocks as changed_blocks,
    changed_times as changed_times,
    check_packed as check_packed,
    damaged_notes as damaged_notes,
    encode_blocks as encode_blocks,
    encode_note as encode_note,
    note_key as note_key,
    note_name as note_name,
    pack_every as pack_every,
    packed_note as packed_note,
    read_all as read_all,
    read_many as read_many,
    read_note as read_note,
    read_times as read_times,
    unpack_block as unpack_block,
    unpacked as unpacked,
    unpacked_note as unpacked_note,
    whole_times as whole_times,
)
from simdb.storage.records.tombstones import (
    Bitmap as Bitmap,
    Spare as Spare,
    Tombstones as Tombstones,
    encode_chunks as encode_chunks,
    is_deleted as is_deleted,
    live_count as live_count,
    live_ordinals as live_ordinals,
    with_deleted as with_deleted,
    with_room as with_room,
)
from simdb.storage.remains import (
    COLUMN_KEY_BYTES as COLUMN_KEY_BYTES,
    COLUMN_PLACES as COLUMN_PLACES,
    Remains as Remains,
)
from simdb.storage.runs import rewriting as rewriting
from simdb.storage.runs.columns import (
    ColumnPart as ColumnPart,
    ColumnParts as ColumnParts,
    FollowedKernel as FollowedKernel,
    LazyKernel as LazyKernel,
    SealedParts as SealedParts,
)
from simdb.storage.runs.merge import (
    MergedRuns as MergedRuns,
    Merging as Merging,
    check_written as check_written,
    column_differences as column_differences,
    differences as differences,
    joined as joined,
    merge_in_memory as merge_in_memory,
    merge_tables as merge_tables,
    steps_of as steps_of,
    table_differences as table_differences,
    taken as taken,
    written_keys as written_keys,
)
from simdb.storage.runs.rewriting import seal as seal, write_run as write_run
from simdb.storage.runs.run import (
    Run as Run,
    Segment as Segment,
    as_segment as as_segment,
    put_segment as put_segment,
    run_keys as run_keys,
)
from simdb.storage.runs.source import Source as Source
from simdb.storage.runs.table import (
    ENTRY_BYTES as ENTRY_BYTES,
    Put as Put,
    Sorting as Sorting,
    Table as Table,
    encoded_table as encoded_table,
    header_bits as header_bits,
    is_stored as is_stored,
    make_table as make_table,
    polytope_header_bits as polytope_header_bits,
    run_info as run_info,
    sorted_table as sorted_table,
)
from simdb.storage.salvage import (
    Loss as Loss,
    ReadablePart as ReadablePart,
    Salvage as Salvage,
    ids_of as ids_of,
    salvaged as salvaged,
    sound_metadata as sound_metadata,
    sound_times as sound_times,
    stored_ids as stored_ids,
)
from simdb.storage.transfer import (
    CALIBRATION as CALIBRATION,
    DOCUMENTS as DOCUMENTS,
    HEAD as HEAD,
    IDF as IDF,
    NOTE as NOTE,
    OPTIONAL as OPTIONAL,
    Documents as Documents,
    DumpWriter as DumpWriter,
    Part as Part,
    read_dump as read_dump,
)
from simdb.storage.translation import (
    MapFull as MapFull,
    translate as translate,
    translated as translated,
)
