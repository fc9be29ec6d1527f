"""Grouped options: options that a command takes as one value, in a frozen dataclass."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]


def grouped(command: Command) -> Command:
    """Return the command with an option for each field of its parameters that are dataclasses.

    The options of a command are read from its signature, so the signature is written here.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command).parameters.values():
        kind = hints[own.name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(
                own.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[own.name])
            )
            continue
        groups[own.name] = kind
        inner = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default,
                annotation=inner[each.name],
            )
            for each in fields(kind)
        ]  # fmt: skip

    @wraps(command)
    def run(**values: Any) -> None:
        for name, kind in groups.items():
            names = [each.name for each in fields(kind)]
            values[name] = kind(**{each: values.pop(each) for each in names})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
