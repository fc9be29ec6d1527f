"""Foreign words: names of arguments in other packages or earlier versions, and ours for each.

A verb or a command that is called with such a word names our argument in its error.  An object does
so for a method that it has under another name.  `foreign.txt` has the words; it is read at the
first such mistake.
"""

from collections.abc import Callable
from functools import cache, wraps
from inspect import isfunction, signature, unwrap
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from simdb.core.cold import section

WORDS = Path(__file__).with_suffix(".txt")
INIT = "__init__"

Verb = TypeVar("Verb", bound=Callable[..., Any])


@cache
def own_words(kind: str) -> dict[str, str]:
    """Return our words by foreign words, for "arguments", "commands" or the methods of a class."""
    lines = (line.partition(": ") for line in section(WORDS, kind).splitlines())
    return {word: own for words, _, own in lines for word in words.split()}


def own_word(word: str, *, at_command: bool = False) -> str:
    """Return our word for a foreign argument or option of a command; "" if there is none."""
    own = own_words("arguments").get(word.lstrip("-").replace("-", "_"), "")
    return own.partition("|")[2 if at_command else 0].strip()


def answering(verb: Verb) -> Verb:
    """Make a verb name our argument in the TypeError for a foreign argument.

    For a class, change its constructor and all verbs with keyword arguments.  Python's own
    TypeErrors then name a verb without its class, which users may not know.
    """
    if isinstance(verb, type):
        # A constructor that is compiled on first use is not a function until then.
        for name, method in [*vars(verb).items(), (INIT, getattr(verb, INIT))]:
            if not isfunction(method) or (name[0] == "_" and name != INIT):
                continue
            if name != INIT:
                method.__qualname__ = unwrap(method).__qualname__ = name
            if method.__kwdefaults__:
                setattr(verb, name, answering(method))
        return verb

    @wraps(verb)
    def answered(*args: Any, **kwargs: Any) -> Any:
        try:
            return verb(*args, **kwargs)
        except TypeError as error:
            answer = _answer(verb, kwargs, error)
            if answer is None:
                raise
        raise TypeError(answer)

    return answered  # type: ignore[return-value]


def hinting(kind: str) -> Callable[[object, str], NoReturn]:
    """Return a `__getattr__` that names our method in the AttributeError for a foreign method."""

    def __getattr__(holder: object, name: str) -> NoReturn:  # noqa: N807 - it becomes a method
        own = own_words(kind).get(name)
        raise AttributeError(
            f"{type(holder).__name__!r} object has no attribute {name!r}"
            + (f"; use {own}" if own else ""),
            name=name,
            obj=holder,
        )

    return __getattr__


def _answer(verb: Callable[..., Any], given: dict[str, Any], error: TypeError) -> str | None:
    """Return the message about a foreign argument; None if the error has another cause."""
    name = verb.__name__
    shown = name if name != INIT else verb.__qualname__.split(".")[-2]
    for word in given:
        own = own_word(f"{name}.{word}") or own_word(word)
        if name == "open":
            own = _within_options(word, own)
        argument, sign, value = own.partition("=")
        if sign and "(" not in value and argument not in signature(verb).parameters:
            continue  # the verb has no such argument either
        if own and str(error).endswith(f"{name}() got an unexpected keyword argument {word!r}"):
            return f"{shown}() has no argument {word!r}; use {own}"
    return None


def _within_options(word: str, own: str) -> str:
    """Return our word; options of a database are shown within the `options=` of `open`."""
    names = own_words("open")
    given = f"{word}=..." if word in names else own
    if given.partition("=")[0] not in names:
        return own
    return f"options=simdb.Options({given}{'...' if given.endswith('=') else ''})"
