from simdb.jobs.decontamination.decontaminate import (
    CUT as CUT,
    DROP as DROP,
    MARK as MARK,
    DecontaminationRun as DecontaminationRun,
    ItemSearch as ItemSearch,
    parts_of_files as parts_of_files,
)
from simdb.jobs.decontamination.items import LeakRule as LeakRule
from simdb.jobs.decontamination.result import Decontaminated as Decontaminated
from simdb.jobs.deduplication import claims as claims, sieve as sieve
from simdb.jobs.deduplication.job import (
    DedupJob as DedupJob,
    Outcome as Outcome,
    run_job as run_job,
)
from simdb.jobs.deduplication.question import (
    DedupQuestion as DedupQuestion,
    check_together as check_together,
)
from simdb.jobs.deduplication.reference import (
    DatabaseReference as DatabaseReference,
    FileReference as FileReference,
    Reference as Reference,
)
from simdb.jobs.deduplication.repeat import checked_name as checked_name, digest as digest
from simdb.jobs.deduplication.result import InMemory as InMemory
from simdb.jobs.deduplication.sieve import (
    NAMELESS as NAMELESS,
    checked_unit as checked_unit,
)
from simdb.jobs.deduplication.stars import decided_in_order as decided_in_order
from simdb.jobs.report.excerpts import TEXT_CHARACTERS as TEXT_CHARACTERS, compared as compared
from simdb.jobs.report.facts import Limits as Limits, gather as gather
from simdb.jobs.report.page import (
    PAGE_FORM as PAGE_FORM,
    check_page as check_page,
    fill_page as fill_page,
    render as render,
    write_page as write_page,
)
