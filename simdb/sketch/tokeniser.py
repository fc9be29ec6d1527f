"""Tokeniser: calls the user's own function from a text to its tokens, which the options name.

A database stores only the name of the function, and a database can come from anywhere.  So the
function is imported only if the caller, too, has named it.
"""

from collections.abc import Callable, Collection, Sequence
from importlib import import_module

from simdb.ground.errors import InputError, OptionError
from simdb.sketch.encoding import decoded
from simdb.sketch.normalisation import lower_cased

Tokenise = Callable[[str], list[str]]


class Tokeniser:
    """The step of the pipeline from texts to lists of tokens."""

    def __init__(self, name: str, allowed: Collection[str], *, lowercase: bool) -> None:
        """Import the callable `name`; OptionError if it is not in `allowed`."""
        if name not in allowed:
            raise OptionError(
                f"this database needs the tokeniser {name!r}, which is imported only if you allow"
                f" it; if you trust it, use simdb.open(path, allow=[{name!r}]), or --allow {name}"
            )
        self._name = name
        self._tokenise = _imported(name)
        self._lowercase = lowercase

    def apply(self, texts: Sequence[str | bytes], *, replace: bool, start: int) -> list[list[str]]:
        """Return the tokens of each text; error messages number the texts from `start`."""
        return [
            self._tokens(decoded(text, "utf-8", position=position, replace=replace), position)
            for position, text in enumerate(texts, start)
        ]

    def _tokens(self, text: str, position: int) -> list[str]:
        """Return the tokens of one text; InputError if the tokeniser fails or returns no tokens."""
        try:
            tokens = self._tokenise(text)
        except Exception as error:
            raise InputError(
                f"document {position}: the tokeniser {self._name!r} raised"
                f" {type(error).__name__}: {error}"
            ) from error
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise InputError(
                f"document {position}: the tokeniser {self._name!r} returned {_shown(tokens)}, not"
                " a list of str"
            )
        return [lower_cased(token) for token in tokens] if self._lowercase else tokens


def _imported(name: str) -> Tokenise:
    """Import "module:function"; OptionError if that fails or it is not a callable."""
    module, _, function = name.partition(":")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise OptionError(f"the tokeniser {name!r} cannot be imported: {error}") from error
    if not callable(found):
        raise OptionError(f"the tokeniser {name!r} is {type(found).__name__}, not a callable")
    tokenise: Tokenise = found
    return tokenise


def _shown(value: object) -> str:
    """Describe, for a message, a value that is not a list of str."""
    if isinstance(value, list):
        kinds = sorted({type(each).__name__ for each in value if not isinstance(each, str)})
        return f"a list with {', '.join(kinds)}"
    return type(value).__name__
