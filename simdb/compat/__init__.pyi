from simdb.compat import importing as importing
