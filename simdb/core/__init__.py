"""Core: what every wing shares.

Here are errors, options and their values, documents and results, columns of Arrow, threads, memory
and the compiled kernel.  Nothing here knows a sketch, a file format or a database.  Other wings
import the names of these modules from the module, `from simdb.core.errors import InputError`.
"""

__all__ = [
    "arrays", "arrow", "bits", "checks", "choices", "clusters", "cold", "compression", "decoding",
    "documents", "dtypes", "errors", "fields", "foreign", "keeping", "kernel", "matches", "memory",
    "options", "previews", "progress", "reports", "scales", "skipped", "stored_options",
    "text_sketch", "threads", "values", "vector_form",
]  # fmt: skip
