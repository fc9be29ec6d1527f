from simdb.jobs.decontamination.decontaminate import (
    checked_rule as checked_rule,
    parts_of_files as parts_of_files,
    result as result,
)
from simdb.jobs.decontamination.result import COLUMNS as COLUMNS, Decontaminated as Decontaminated
from simdb.jobs.decontamination.search import (
    CUT as CUT,
    DROP as DROP,
    MARK as MARK,
    DecontaminationRun as DecontaminationRun,
    ItemSearch as ItemSearch,
)
from simdb.jobs.deduplication import repeat as repeat
from simdb.jobs.deduplication.arrivals import Arrivals as Arrivals
from simdb.jobs.deduplication.claims import Claims as Claims
from simdb.jobs.deduplication.dropping import PartsRun as PartsRun
from simdb.jobs.deduplication.question import (
    Decided as Decided,
    DedupQuestion as DedupQuestion,
    texts_at as texts_at,
)
from simdb.jobs.deduplication.reference import (
    DatabaseReference as DatabaseReference,
    FileReference as FileReference,
    Reference as Reference,
)
from simdb.jobs.deduplication.references import check_apart as check_apart
from simdb.jobs.deduplication.repeat import Left as Left
from simdb.jobs.deduplication.result import InMemory as InMemory, Parts as Parts
from simdb.jobs.deduplication.run import DedupRun as DedupRun, SecondLook as SecondLook
from simdb.jobs.deduplication.sieve import (
    DOCUMENT as DOCUMENT,
    NAMELESS as NAMELESS,
    UNITS as UNITS,
    Dropped as Dropped,
    Sieve as Sieve,
    UnitKeys as UnitKeys,
    checked_unit as checked_unit,
)
from simdb.jobs.deduplication.stars import decided_in_order as decided_in_order
from simdb.jobs.report.excerpts import TEXT_CHARACTERS as TEXT_CHARACTERS, compared as compared
from simdb.jobs.report.facts import Limits as Limits, gather as gather
from simdb.jobs.report.page import (
    PAGE_FORM as PAGE_FORM,
    TextPair as TextPair,
    check_page as check_page,
    fill_page as fill_page,
    nearest_pairs as nearest_pairs,
    render as render,
    render_removed as render_removed,
    rule_in_words as rule_in_words,
    write_page as write_page,
)
