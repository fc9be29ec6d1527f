"""Vocabulary: drops stop words and stems the other tokens before they make shingles, in Python."""

from collections.abc import Callable, Sequence

Stem = Callable[[list[str]], list[str]]

TOKEN_BYTES_MAX = 255  # a longer token stays as it is
LIMIT = 1 << 20  # of remembered tokens


class Vocabulary:
    """Stop words, and a cache of the stems of tokens."""

    def __init__(
        self, seed: int, stop_words: Sequence[str], stem: Stem | None, *, limit: int = LIMIT
    ) -> None:
        """Drop `stop_words`, and replace other tokens by their `stem` unless it is None."""
        self._seed = seed
        words = (word.encode("utf-8") for word in stop_words)
        self._stop_words = {word: b"" for word in words if len(word) <= TOKEN_BYTES_MAX}
        self._stem = stem
        self._limit = limit
        self._known = dict(self._stop_words)

    @property
    def seed(self) -> int:
        """The seed of the hashes of tokens."""
        return self._seed

    def translate(self, tokens: list[bytes]) -> list[bytes]:
        """Return the tokens without stop words, and with stems."""
        if len(self._known) > self._limit:
            self._known = dict(self._stop_words)
        if self._stem is not None:
            self._learn(tokens, self._stem)
        translated = [self._known.get(token, token) for token in tokens]
        # A token that is replaced by b"" is dropped; a token that was given as b"" stays.
        return [new for old, new in zip(tokens, translated, strict=True) if new or not old]

    def _learn(self, tokens: list[bytes], stem: Stem) -> None:
        """Remember the stems of tokens that are not known yet."""
        words = {}
        for token in tokens:
            if 0 < len(token) <= TOKEN_BYTES_MAX and token not in self._known:
                try:
                    words[token] = token.decode("utf-8")
                except UnicodeDecodeError:
                    self._known[token] = token
        stems = stem(list(words.values())) if words else []
        if len(stems) != len(words):
            raise ValueError(f"stem returned {len(stems)} stems for {len(words)} tokens")
        for token, word in zip(words, stems, strict=True):
            self._known[token] = word.encode("utf-8")
