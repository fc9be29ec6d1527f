from simdb.files import (
    content as content,
)
from simdb.files.content import (
    AMOUNT as AMOUNT,
    begin_counting as begin_counting,
    expected_documents as expected_documents,
    markup_hint as markup_hint,
    page_position as page_position,
    read_file as read_file,
)
from simdb.files.formats import (
    COMPRESSIONS as COMPRESSIONS,
    DELIMITERS as DELIMITERS,
    FOLDER as FOLDER,
    PAGE as PAGE,
    PARQUET as PARQUET,
    PATHS as PATHS,
    ROWS as ROWS,
    STANDARD_INPUT as STANDARD_INPUT,
    STANDARD_OUTPUT as STANDARD_OUTPUT,
    TABLES as TABLES,
    Format as Format,
    output_format as output_format,
)
from simdb.files.origins import (
    Origins as Origins,
)
from simdb.files.outputs import (
    Outputs as Outputs,
    Staying as Staying,
    Target as Target,
    Unclosed as Unclosed,
    check_outputs as check_outputs,
    check_place as check_place,
    check_staying as check_staying,
    side_files as side_files,
    written as written,
)
from simdb.files.pieces import (
    Blocks as Blocks,
    Spool as Spool,
    TextSpool as TextSpool,
)
from simdb.files.read_again import (
    LinesAgain as LinesAgain,
    Names as Names,
    TextsAgain as TextsAgain,
    other_ids as other_ids,
)
from simdb.files.records import (
    NO_FIELD as NO_FIELD,
    NO_TEXT as NO_TEXT,
    Batch as Batch,
    Found as Found,
    InputId as InputId,
    InputProblem as InputProblem,
    Record as Record,
    SourceOptions as SourceOptions,
    Texts as Texts,
    as_int_id as as_int_id,
    batched as batched,
    byte_count as byte_count,
    joined as joined,
    valid_name as valid_name,
)
from simdb.files.remote import (
    is_remote as is_remote,
    remote_place as remote_place,
)
from simdb.files.rows import (
    Row as Row,
    as_text as as_text,
    encoded as encoded,
)
from simdb.files.sources import (
    check_sources as check_sources,
    columns_of as columns_of,
    expanded as expanded,
    holds_records as holds_records,
    is_stream as is_stream,
    is_under as is_under,
    left_out_note as left_out_note,
    log_hint as log_hint,
    read_folder as read_folder,
    read_one as read_one,
    read_sources as read_sources,
    read_texts as read_texts,
    records_hint as records_hint,
)
from simdb.files.survivors import (
    SurvivorOutput as SurvivorOutput,
    keep_format as keep_format,
)
from simdb.files.table_file import (
    row_writer as row_writer,
    write_results as write_results,
    write_rows as write_rows,
)
