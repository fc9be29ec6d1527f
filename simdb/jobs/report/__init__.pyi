from simdb.jobs.report import page as page
