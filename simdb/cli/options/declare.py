"""Declarations: commands of click, made of the signatures and docstrings of functions.

A command is a function.  Its parameters before the star are arguments, and those behind it options:

    def show(db: str, *, limit: Positive | None = None, json: bool = False) -> None:
        '''Show what it holds.

        --limit N: Show only this many.
        '''

`command_of(show)` is the command of click.  A line at the end of the docstring describes a
parameter: names, the word for its value and the help, which goes on in lines that are indented.
Parameters without a line have that of `arguments.py`.  A parameter that is called otherwise on the
command line says so: `source: Annotated[str, "FILE"]`.

The types are str, int, float, bool, a Literal, a tuple and a list of one of them, and each with the
type of click: `Annotated[int, IntRange(1)]`; also with None.  A list takes many values, as an
option each word up to the next option if the line says `NAME...`.  A bool is a flag.  A parameter
whose type is a dataclass is a group of options, one for each field, with the lines of its classes;
the `panel` of the class is the title above them.
"""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import click

from simdb.cli import options, output
from simdb.cli.options import arguments
from simdb.ground.foreign import own_word

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP_OPTIONS = ["-h", "--help"]
OPTIONS_PANEL = "Options"
COMMANDS_PANEL = "Commands"
# What the help shows for a value whose declaration gives no metavar.
METAVARS = {float: "FLOAT"}
WORD, NUMBER, MANY = "TEXT", "INTEGER", "..."
# The words for a value that is a file or a folder.
PLACES = {"FILE", "PAGE", "DB", "SOURCE", "SOURCE...", "OUT2", "TARGET"}


LINE = re.compile(r"(?P<names>(?:-[^ :]+,? )*-[^ :]+)?(?P<metavar>[^a-z:][^:]*?)?: (?P<help>.*)")


class Line(NamedTuple):
    """The line of a docstring about a parameter: its names, the word for its value, its help."""

    names: list[str]
    metavar: str
    help: str


class Command(click.Command):
    """A command of click whose help is drawn in panels, and that knows foreign options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line; an error says our name of an option.

        An option that takes one value is given once.
        """
        greedy = {
            name
            for each in self.params
            if isinstance(each, CommandOption) and each.takes_all
            for name in each.opts
        }
        try:
            words = spread(args, greedy)
            given = self.make_parser(ctx).parse_args(list(words))[2]
            for at, each in enumerate(given):
                if isinstance(each, CommandOption) and each.is_single and each in given[:at]:
                    raise click.UsageError(f"{each.opts[-1]} is given twice; give it once", ctx)
            return super().parse_args(ctx, words)
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
        formatter.write(output.terminal.command_help(self, ctx))


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
        formatter.write(output.terminal.program_help(self, ctx, {COMMANDS_PANEL: texts}))


class CommandArgument(click.Argument):
    """An argument of click that has a help text."""

    def __init__(self, *given: Any, help: str, **settings: Any) -> None:
        """Make the argument of click."""
        super().__init__(*given, **settings)
        self.help = help

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the values that can complete this argument."""
        return options.completion.completed(ctx, self, incomplete)


class CommandOption(click.Option):
    """An option of click that knows the panel of the help in which it is shown."""

    def __init__(self, *given: Any, panel: str, takes_all: bool = False, **settings: Any) -> None:
        """Make the option of click; `panel` is the title of the panel; see `Option`."""
        super().__init__(*given, **settings)
        self.panel, self.takes_all = panel, takes_all
        self.is_single = not (self.multiple or self.is_flag)

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value; UsageError for one that was meant as an option."""
        given = value if isinstance(value, list | tuple) else [value]
        flags = {flag for each in ctx.command.params for flag in each.opts}
        for each in given:
            if not isinstance(each, str) or each == "-" or not each.startswith("-"):
                continue
            if each in flags or self.metavar in PLACES:
                hint = f"; ./{each} is a path" if self.metavar in PLACES else ""
                raise click.UsageError(
                    f"{self.opts[-1]} needs a {self.metavar}, got the option {each}{hint}", ctx
                )
        if isinstance(value, str) and isinstance(self.type, click.types.FloatParamType):
            value = _without_percent(value)
        return super().type_cast_value(ctx, value)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the values that can complete this option."""
        return options.completion.completed(ctx, self, incomplete)


def _without_percent(value: str) -> str:
    """Return a number as it was given, and a percentage as a share: 0.8 for 80%."""
    number = value.removesuffix("%").strip()
    try:
        return value if number == value else f"{float(number) / 100:.12g}"
    except ValueError:
        return value


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
    text, lines = _described(function)
    groups: dict[str, type] = {}
    made: list[CommandArgument | CommandOption] = []
    for each in inspect.signature(function, eval_str=True).parameters.values():
        kind = each.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[each.name] = kind
            own = dict(pair for base in kind.__mro__[::-1] for pair in _described(base)[1].items())
            panel = getattr(kind, "panel", OPTIONS_PANEL)
            made += [_option(one.name, one.type, one.default, own, panel) for one in fields(kind)]
        elif each.kind is each.KEYWORD_ONLY:
            made.append(_option(each.name, kind, each.default, lines, OPTIONS_PANEL))
        else:
            made.append(_argument(each.name, kind, each.default, lines))
    lists = [str(each.name) for each in made if each.multiple or each.nargs == -1]
    return Command(
        function.__name__.replace("_", "-"),
        callback=partial(_call, function, groups, lists),
        params=list(made),
        help=text,
        context_settings={"help_option_names": HELP_OPTIONS},
    )


def _call(
    function: Callable[..., None], groups: dict[str, type], lists: Sequence[str], /, **values: Any
) -> None:
    """Call a command; a list without values is None."""
    values |= {name: list(values[name]) or None for name in lists}
    for name, kind in groups.items():
        values[name] = kind(**{each.name: values.pop(each.name) for each in fields(kind)})
    function(**values)


def _described(declared: Any) -> tuple[str, dict[str, Line]]:
    """Return the text of a docstring, and the lines at its end by the name of the parameter."""
    text: list[str] = []
    lines: dict[str, Line] = {}
    key = ""
    for each in inspect.cleandoc(declared.__doc__ or "").split("\n"):
        found = LINE.fullmatch(each)
        if found is not None and (found["names"] or (found["metavar"] or "").isupper()):
            names = (found["names"] or "").replace(",", "").split()
            key = names[-1].partition("/")[0] if names else found["metavar"]
            lines[key] = Line(names, (found["metavar"] or "").strip(), found["help"])
        elif key:
            lines[key] = lines[key]._replace(help=f"{lines[key].help} {each.strip()}")
        else:
            text.append(each)
    return "\n".join(text).strip(), lines


class _Type(NamedTuple):
    """What an annotation says: the type of click, whether it is a list, and the name as typed."""

    kind: Any
    is_list: bool
    name: str

    @classmethod
    def of(cls, annotation: Any) -> "_Type":
        """Read an annotation from the outside to the inside."""
        is_list, name = False, ""
        while (origin := get_origin(annotation)) is not None:
            inner = get_args(annotation)
            if origin in (UnionType, Union):
                annotation = next(each for each in inner if each is not NoneType)
            elif origin is list:
                is_list, annotation = True, inner[0]
            elif origin is not Annotated:
                return cls(click.Choice(inner) if origin is Literal else inner, is_list, name)
            elif isinstance(inner[1], str):
                annotation, name = inner
            else:
                return cls(inner[1], is_list, name)
        return cls(annotation, is_list, name)


def _argument(
    name: str, annotation: Any, default: Any, lines: Mapping[str, Line]
) -> CommandArgument:
    kind, is_list, metavar = _Type.of(annotation)
    metavar = metavar or (f"{name.removesuffix('s')}..." if is_list else name).upper()
    is_required = default is inspect.Parameter.empty
    return CommandArgument(
        [name],
        type=kind,
        nargs=-1 if is_list else 1,
        required=is_required,
        metavar=metavar if is_required else f"[{metavar}]",
        help=(lines.get(metavar) or SHARED[metavar]).help,
    )


def _option(
    name: str, annotation: Any, default: Any, lines: Mapping[str, Line], panel: str
) -> CommandOption:
    kind, is_list, flag = _Type.of(annotation)
    flag = flag or f"--{name.replace('_', '-')}"
    line = lines.get(flag) or SHARED[flag]
    settings: dict[str, Any] = {} if is_list else {"default": default}
    if kind is bool:
        settings["is_flag"] = True
    else:
        is_number = kind is int or isinstance(kind, click.IntRange)
        settings["metavar"] = line.metavar or (NUMBER if is_number else METAVARS.get(kind, WORD))
        settings["type"] = kind
    return CommandOption(
        [name, *line.names], multiple=is_list, help=line.help, panel=panel,
        takes_all=is_list and line.metavar.endswith(MANY), **settings,
    )  # fmt: skip


SHARED = _described(arguments)[1]
