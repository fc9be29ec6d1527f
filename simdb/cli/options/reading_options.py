"""Reading options: how a command reads records and texts."""

from dataclasses import dataclass

from simdb.cli.options import arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """The options of a command about its input."""

    id_field: arguments.IdField = "id"
    text_field: arguments.TextField = "text"
    int_ids: arguments.IntIds = False
    encoding: arguments.Encoding = "utf-8"
    errors: arguments.Errors = "strict"
