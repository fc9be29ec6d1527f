"""Declarations: makes commands of click from signatures of functions and texts in `help.txt`.

A command is a function.  Its parameters before the star are arguments, the others options:

    def show(db: str, *, limit: Positive | None = None) -> None: ...

`command_of(show)` is the command of click.  Its text in `help.txt` ends with indented lines, which
describe parameters: the names, the word for the value and the help.

        --limit N: Show only this many.

Notes after these lines appear at the end of the help.  A parameter without a line has the line of
the section `shared`.  A parameter with another name on the command line states that name:
`source: Annotated[str, "FILE"]`.

The types are str, int, float, bool, a Literal, a tuple, and a list of one of these.  Each can have
a type of click, as in `Annotated[int, IntRange(1)]`, and can include None.  A bool is a flag.  A
list takes several values: its option is repeated or, if the line says `NAME...`, takes each word up
to the next option.  A parameter whose type is a dataclass stands for one option per field.

The help of a command shows its options in groups.  Each line of the section `groups` has a title
and the options of a group.  Each line of the section `daily` has a command and the options that its
help shows first.  A command without a line there has one group for its sketch and one for the rest.
"""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

from simdb.cli import HELP
from simdb.cli.output import render
from simdb.core.choices import MethodName
from simdb.core.foreign import own_word

Natural = Annotated[int, click.IntRange(0)]
Positive = Annotated[int, click.IntRange(1)]
BitCount = Annotated[int, click.IntRange(0, 64)]
OPTIONAL = "[N]"  # the word for an optional number, which is 0 if omitted

ARGUMENTS, OPTIONS, SKETCH = "Arguments", "Options", "Sketch"
MANY = "..."
# Words for values that are folders or files, and values of options that the shell can complete.
FOLDERS = ("DB", "TARGET")
FILES = ("FILE", "PAGE", "SOURCE", "SOURCE...", "OUT2", "PICKLE", "[DB] A B")
CHOICES = {
    "--search": get_args(MethodName),
    "--keep": ("first", "last", "longest", "shortest", "max:", "min:"),
}
NO_BREAK = "\u2011"  # a hyphen at which click breaks no line
LINE = re.compile(r"^    (\S.*?): (.+(?:\n {8}.+)*)", re.M)


class Line(NamedTuple):
    """The line about a parameter: its names, the word for its value, its help."""

    names: list[str]
    metavar: str
    help: str


class Command(click.Command):
    """A command of click whose help has sections, and which knows options of other tools."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; for an option of another tool, the error names our option.

        Raises UsageError if an option that takes one value appears twice.
        """
        options = [each for each in self.params if isinstance(each, CommandOption)]
        flags = {flag for each in options for flag in each.opts}
        ctx.meta.update({render.GIVEN: list(args), render.OWN: flags})
        greedy = {name for each in options if each.takes_all for name in each.opts}
        numbered = {name for each in options if each.metavar == OPTIONAL for name in each.opts}
        try:
            spread_out = spread(with_numbers(args, numbered), greedy)
            given = self.make_parser(ctx).parse_args(list(spread_out))[2]
            for at, each in enumerate(given):
                if each in given[:at] and each in options and not (each.multiple or each.is_flag):
                    raise click.UsageError(f"{each.opts[-1]} is given twice; give it once", ctx)
            return super().parse_args(ctx, spread_out)
        except click.NoSuchOption as error:
            own = own_word(error.option_name, at_command=True)
            if not own or (own[0] == "-" and own.partition(" ")[0] not in flags):
                raise
            message = f"No such option: {error.option_name}; use {own}"
            raise click.UsageError(message, ctx) from None

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, without line breaks inside options."""
        return super().get_help(ctx).replace(NO_BREAK, "-")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the parameters in their sections."""
        sections = {title: list[tuple[str, str]]() for title in (ARGUMENTS, OPTIONS, *TITLES)}
        for each in self.get_params(ctx):
            if record := each.get_help_record(ctx):
                sections[getattr(each, "panel", OPTIONS)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class CommandArgument(click.Argument):
    """An argument of click with a help text."""

    panel = ARGUMENTS

    def __init__(self, *given: Any, text: str, **settings: Any) -> None:
        """Make the argument; only the newest versions of click know such a text."""
        super().__init__(*given, shell_complete=completed, **settings)
        self.text = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the word for the argument and its help."""
        return word_of(self), self.text


class CommandOption(click.Option):
    """An option of click with the section of the help that shows it."""

    panel = OPTIONS

    def __init__(self, *given: Any, takes_all: bool, **settings: Any) -> None:
        """Make the option; `takes_all`: each word up to the next option is a value."""
        super().__init__(*given, shell_complete=completed, **settings)
        self.takes_all = takes_all

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value; raise UsageError if it is an option."""
        flags = {flag for each in ctx.command.params for flag in each.opts}
        is_place = self.metavar in FOLDERS + FILES
        for each in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(each, str) or each == "-" or not each.startswith("-"):
                continue
            if each in flags or is_place:
                hint = f"; ./{each} is a path" if is_place else ""
                raise click.UsageError(
                    f"{self.opts[-1]} needs a {self.metavar}, got the option {each}{hint}", ctx
                )
        return super().type_cast_value(ctx, value)


class ShareType(click.types.FloatParamType):
    """A number, or a percentage for a share: 80% is 0.8."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        if isinstance(value, str) and value.endswith("%"):
            with suppress(ValueError):
                value = float(f"{float(value[:-1]) / 100:.12g}")
        return super().convert(value, param, ctx)


def completed(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the values that can complete an argument or an option.

    For a path, only its kind is returned: the shell itself lists files and folders.
    """
    if isinstance(parameter.type, click.Choice):
        return parameter.type.shell_complete(context, parameter, incomplete)
    word = word_of(parameter)
    if word in FOLDERS + FILES:
        return [CompletionItem(incomplete, type="dir" if word in FOLDERS else "file")]
    words = CHOICES.get(parameter.opts[-1], ())
    return [CompletionItem(each) for each in words if each.startswith(incomplete)]


def word_of(parameter: click.Parameter) -> str:
    """Return the word for a value, without the brackets of an optional argument."""
    word = parameter.metavar or ""
    return word if parameter.required else word.removeprefix("[").removesuffix("]")


def with_numbers(words: Sequence[str], numbered: Collection[str]) -> list[str]:
    """Return the words of a command line with 0 after each `numbered` option without a number."""
    found: list[str] = []
    for word, following in pairwise([*words, ""]):
        found += [word, "0"] if word in numbered and not following.isdecimal() else [word]
    return found


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


def command_of(
    function: Callable[..., None], name: str | None = None, *, has_json: bool = True
) -> click.Command:
    """Return the command that a signature and the texts under the function's name declare.

    `has_json`: the command prints rows, so it has --json, which `render.wants_json` reads.
    """
    name = name or function.__name__.replace("_", "-")
    text, own, notes = described(name)
    lines = SHARED | own
    groups: dict[str, type] = {}
    made: list[CommandArgument | CommandOption] = []
    for each in inspect.signature(function, eval_str=True).parameters.values():
        kind = each.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[each.name] = kind
            types = get_type_hints(kind, include_extras=True)
            made += [_option(one.name, types[one.name], one.default, lines) for one in fields(kind)]
        elif each.kind is each.KEYWORD_ONLY:
            made.append(_option(each.name, kind, each.default, lines))
        else:
            made.append(_argument(each.name, kind, each.default, lines))
    if has_json:
        option = _option("json", bool, False, lines)
        option.expose_value = False
        option.callback = _keep_json
        made.append(option)
    lists = [str(each.name) for each in made if each.multiple or each.nargs == -1]
    called = partial(_call, function, groups, lists)
    places = {flag: at for at, flag in enumerate(DAILY.get(name, []))}
    made.sort(key=lambda one: places.get(one.opts[-1], len(places)))
    for other in made[len(places) :]:
        title = TITLE_OF.get(other.opts[-1], other.panel)
        if places or title == SKETCH:
            other.panel = title
    return Command(name.split()[-1], callback=called, params=list(made), help=text, epilog=notes)


def described(name: str) -> tuple[str, dict[str, Line], str]:
    """Return the text of a section, its lines by parameter, and its notes."""
    section, lines = HELP.get(name, ""), {}
    for head, text in LINE.findall(section):
        words = head.split()
        names = [word.rstrip(",") for word in words if word.startswith("-")]
        metavar = " ".join(words[len(names) :])
        key = names[-1].partition("/")[0] if names else metavar
        lines[key] = Line(names, metavar, unbroken(" ".join(text.split())))
    text, *notes = re.split("^(?: {4}.+\n)+", section, maxsplit=1, flags=re.M)
    return unbroken(text.strip()), lines, unbroken("".join(notes).strip())


def unbroken(text: str) -> str:
    """Return a text in which no line can end inside an option, such as --text-field."""
    return re.sub("--[a-z-]+", lambda found: f"--{found[0][2:].replace('-', NO_BREAK)}", text)


def _keep_json(context: click.Context, option: click.Parameter, value: bool) -> None:
    context.meta[render.JSON] = value


def _call(
    function: Callable[..., None], groups: dict[str, type], lists: Sequence[str], /, **values: Any
) -> None:
    """Call a command; a list without values is None."""
    values |= {name: list(values[name]) or None for name in lists}
    for name, kind in groups.items():
        values[name] = kind(**{each.name: values.pop(each.name) for each in fields(kind)})
    function(**values)


def _type_of(annotation: Any) -> tuple[Any, bool, str]:
    """Return the type for click in an annotation, whether it is a list, and the other name."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (UnionType, Union):
        return _type_of(inner[0])
    if origin is list:
        return inner[0], True, ""
    if origin is Annotated:
        kind, is_list, _ = _type_of(inner[0])
        is_name = isinstance(inner[1], str)
        return (kind, is_list, inner[1]) if is_name else (inner[1], is_list, "")
    return click.Choice(inner) if origin is Literal else inner or annotation, False, ""


def _argument(
    name: str, annotation: Any, default: Any, lines: Mapping[str, Line]
) -> CommandArgument:
    kind, is_list, metavar = _type_of(annotation)
    metavar = metavar or (f"{name.removesuffix('s')}..." if is_list else name).upper()
    is_required = default is inspect.Parameter.empty
    return CommandArgument(
        [name], type=kind, nargs=-1 if is_list else 1, required=is_required,
        metavar=metavar if is_required else f"[{metavar}]", text=lines[metavar].help,
    )  # fmt: skip


def _option(name: str, annotation: Any, default: Any, lines: Mapping[str, Line]) -> CommandOption:
    kind, is_list, flag = _type_of(annotation)
    line = lines[flag or f"--{name.replace('_', '-')}"]
    settings: dict[str, Any] = {} if is_list else {"default": default}
    if kind is bool:
        settings["is_flag"] = True
    else:
        is_whole = kind is int or isinstance(kind, click.IntRange)
        usual = "INTEGER" if is_whole else "FLOAT" if kind is float else "TEXT"
        settings["metavar"] = line.metavar or usual
        settings["type"] = ShareType() if kind is float else kind
    return CommandOption(
        [name, *line.names], multiple=is_list, help=line.help,
        takes_all=is_list and line.metavar.endswith(MANY), show_default=True, **settings,
    )  # fmt: skip


SHARED = described("shared")[1]
DAILY, TITLES = (
    {each.metavar: each.help.replace(NO_BREAK, "-").split() for each in described(name)[1].values()}
    for name in ("daily", "groups")
)
TITLE_OF = {flag: title for title, flags in TITLES.items() for flag in flags}
