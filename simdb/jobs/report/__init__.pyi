from simdb.jobs.report import template as template, text_pairs as text_pairs
