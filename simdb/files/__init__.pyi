from simdb.files.content import AMOUNT as AMOUNT, markup_hint as markup_hint, read_file as read_file
from simdb.files.formats import (
    STANDARD_INPUT as STANDARD_INPUT,
    STANDARD_OUTPUT as STANDARD_OUTPUT,
    Format as Format,
    names_output as names_output,
    output_format as output_format,
)
from simdb.files.origins import Origins as Origins
from simdb.files.outputs import (
    Outputs as Outputs,
    Staying as Staying,
    Target as Target,
    check_outputs as check_outputs,
    check_place as check_place,
    check_staying as check_staying,
    side_files as side_files,
    written as written,
)
from simdb.files.pieces import Spool as Spool, TextsById as TextsById
from simdb.files.read_again import (
    LinesAgain as LinesAgain,
    Names as Names,
    TextsAgain as TextsAgain,
)
from simdb.files.records import (
    Batch as Batch,
    Found as Found,
    InputProblem as InputProblem,
    Record as Record,
    SourceOptions as SourceOptions,
    as_int_id as as_int_id,
    batched as batched,
)
from simdb.files.rows import Row as Row, as_text as as_text, encoded as encoded
from simdb.files.sources import (
    check_apart as check_apart,
    check_sources as check_sources,
    expanded as expanded,
    holds_records as holds_records,
    left_out_note as left_out_note,
    read_folder as read_folder,
    read_one as read_one,
    read_sources as read_sources,
    read_texts as read_texts,
    source_hints as source_hints,
    source_places as source_places,
)
from simdb.files.survivors import SurvivorOutput as SurvivorOutput, keep_format as keep_format
from simdb.files.table_file import (
    write_batches as write_batches,
    write_cells as write_cells,
    write_results as write_results,
    write_rows as write_rows,
)
