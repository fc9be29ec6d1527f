"""Declarations: options and arguments in the signature of a command, and commands made of them.

A command is a function.  The annotation of each parameter is its type with an `Option` or an
`Argument`:

    def show(
        db: Annotated[str, Argument(metavar="DB", help="The directory of the database.")],
        limit: Annotated[int | None, Option(min=1, help="Show only this many.")] = None,
    ) -> None:

`command_of(show)` is the command of click.  The types are str, int, float, bool, a tuple of them
and a list of one of them, each also with None.  A list takes many values, a bool is a flag.
A parameter whose type is a dataclass is a group of options: one for each field of it.
"""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

import click

from simdb.cli import options
from simdb.ground.foreign import own_word

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP_OPTIONS = ["-h", "--help"]
OPTIONS_PANEL = "Options"
COMMANDS_PANEL = "Commands"
# What the help shows for a value whose declaration gives no metavar.
METAVARS = {str: "TEXT", int: "INTEGER", float: "FLOAT"}


class Argument(NamedTuple):
    """An argument, a value without a name in front; its parameter has a default if it is optional.

    A list takes all arguments that are left, and is None or at least one value.
    """

    metavar: str
    help: str


class Option(NamedTuple):
    """An option; its parameter has a default.

    `flag` is its name, if it differs from the name of the parameter.  A bool without a `flag` can
    also be turned off: `--lowercase/--no-lowercase`.  `min` and `max` bound a number.  `takes_all`:
    each word after it up to the next option is a value of the list.
    """

    flag: str = ""
    short: str = ""
    metavar: str = ""
    help: str = ""
    min: int | None = None
    max: int | None = None
    panel: str = OPTIONS_PANEL
    takes_all: bool = False


class Command(click.Command):
    """A command of click whose help is drawn in panels, and that knows foreign options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line; an error says our name of an option."""
        greedy = {
            name
            for each in self.params
            if isinstance(each, CommandOption) and each.takes_all
            for name in each.opts
        }
        try:
            return super().parse_args(ctx, spread(args, greedy))
        except click.NoSuchOption as error:
            own = own_word(error.option_name)
            if own is None or not self._has(own.command):
                raise
            raise click.UsageError(
                f"No such option: {error.option_name}; use {own.command}", ctx
            ) from None

    def _has(self, answer: str) -> bool:
        """Return whether the option that an answer begins with is one of this command, if any."""
        flags = [flag for parameter in self.params for flag in parameter.opts]
        return not answer.startswith("-") or answer.partition(" ")[0] in flags

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of this command."""
        formatter.write(options.help.command_help(self, ctx))


class CommandGroup(click.Group):
    """A command that has commands, given by functions; its help is drawn in panels."""

    def __init__(self, name: str, functions: dict[str, Callable[..., None]], text: str) -> None:
        """Make the commands of `functions` by name; `text` is the help."""
        self.__doc__ = inspect.cleandoc(text)
        super().__init__(
            name,
            {each: command_of(function) for each, function in functions.items()},
            help=self.__doc__,
            no_args_is_help=True,
            context_settings={"help_option_names": HELP_OPTIONS},
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of this command, with the first sentence of each of its commands."""
        texts = {
            name: (each.help or "").partition("\n\n")[0].replace("\n", " ")
            for name, each in self.commands.items()
        }
        formatter.write(options.help.program_help(self, ctx, {COMMANDS_PANEL: texts}))


class CommandArgument(click.Argument):
    """An argument of click that has a help text."""

    def __init__(self, *given: Any, help: str, **settings: Any) -> None:
        """Make the argument of click."""
        super().__init__(*given, **settings)
        self.help = help

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the values that can complete this argument."""
        return options.completion.completed(self, incomplete)


class CommandOption(click.Option):
    """An option of click that knows the panel of the help in which it is shown."""

    def __init__(self, *given: Any, panel: str, takes_all: bool = False, **settings: Any) -> None:
        """Make the option of click; `panel` is the title of the panel; see `Option`."""
        super().__init__(*given, **settings)
        self.panel, self.takes_all = panel, takes_all

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the values that can complete this option."""
        return options.completion.completed(self, incomplete)


def spread(words: Sequence[str], greedy: Collection[str]) -> list[str]:
    """Return the words of a command line with the name of a greedy option before each value."""
    found: list[str] = []
    name, is_over = "", False
    for word in words:
        is_over |= word == "--"
        if not is_over and word.startswith("-") and word != "-":
            name = word if word in greedy else ""
            found.append(word)
        elif name and not is_over:
            found += [word] if found[-1] == name else [name, word]
        else:
            found.append(word)
    return found


def command_of(function: Callable[..., None] | CommandGroup) -> click.Command:
    """Return the command that the signature and the docstring of a function declare.

    A group of commands is returned as it is.
    """
    if isinstance(function, CommandGroup):
        return function
    groups, parameters = _declared(function)
    lists = [each.name for each in parameters if each.is_list]
    return Command(
        function.__name__.replace("_", "-"),
        callback=partial(_call, function, groups, lists),
        params=[each.made() for each in parameters],
        help=inspect.getdoc(function),
        context_settings={"help_option_names": HELP_OPTIONS},
    )


def _declared(function: Callable[..., None]) -> tuple[dict[str, type], "list[_Parameter]"]:
    """Return the groups of options of a function by their names, and all options and arguments."""
    groups: dict[str, type] = {}
    found = []
    for each in inspect.signature(function, eval_str=True).parameters.values():
        kind = each.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[each.name] = kind
            found += [_Parameter.of(own.name, own.type, own.default) for own in fields(kind)]
        else:
            found.append(_Parameter.of(each.name, kind, each.default))
    return groups, found


def _call(
    function: Callable[..., None], groups: dict[str, type], lists: Sequence[str], /, **values: Any
) -> None:
    """Call a command; a list without values is None."""
    values |= {name: list(values[name]) or None for name in lists}
    for name, kind in groups.items():
        values[name] = kind(**{each.name: values.pop(each.name) for each in fields(kind)})
    function(**values)


class _Parameter(NamedTuple):
    """A parameter of a function: its name, type without None and list, declaration and default."""

    name: str
    kind: Any
    is_list: bool
    declared: Argument | Option
    default: Any

    @classmethod
    def of(cls, name: str, annotation: Any, default: Any) -> "_Parameter":
        """Read the annotation of a parameter."""
        kind, declared = get_args(annotation)
        if get_origin(kind) is UnionType:
            (kind,) = (each for each in get_args(kind) if each is not NoneType)
        is_list = get_origin(kind) is list
        if is_list:
            (kind,) = get_args(kind)
        return cls(name, kind, is_list, declared, default)

    def made(self) -> click.Parameter:
        """Return the parameter of click."""
        if isinstance(self.declared, Argument):
            return self._argument(self.declared)
        return self._option(self.declared)

    def _argument(self, declared: Argument) -> click.Parameter:
        is_required = self.default is inspect.Parameter.empty
        return CommandArgument(
            [self.name],
            type=self.kind,
            nargs=-1 if self.is_list else 1,
            required=is_required,
            metavar=declared.metavar if is_required else f"[{declared.metavar}]",
            help=declared.help,
        )

    def _option(self, declared: Option) -> click.Parameter:
        settings: dict[str, Any] = {} if self.is_list else {"default": self.default}
        flag = declared.flag or "--" + self.name.replace("_", "-")
        if self.kind is bool:
            settings["is_flag"] = True
            if not declared.flag:
                flag += f"/--no-{self.name.replace('_', '-')}"
        else:
            settings["metavar"] = declared.metavar or METAVARS[self.kind]
            settings["type"] = self._type(declared)
        names = [flag, declared.short] if declared.short else [flag]
        return CommandOption(
            [self.name, *names],
            multiple=self.is_list,
            help=declared.help,
            panel=declared.panel,
            takes_all=declared.takes_all,
            **settings,
        )

    def _type(self, declared: Option) -> Any:
        """Return the type of click: bounded numbers, and tuples."""
        if declared.min is not None or declared.max is not None:
            return click.IntRange(declared.min, declared.max)
        return get_args(self.kind) or self.kind
