"""The vocabulary: stop words and stems of one sketch, as the kernel takes them."""

from simdb import kernel
from simdb.errors import OptionError
from simdb.resources import Resources
from simdb.sketch.language import stemming_of, stop_words_of
from simdb.sketch.normalisation import lower_cased, normalised
from simdb.text_sketch import TextSketch


def make_vocabulary(options: TextSketch, resources: Resources) -> kernel.Vocabulary | None:
    """What becomes of tokens; None where they stay.  Stop words are spelled as tokens are."""
    if not options.stop_words and not options.stemming:
        return None
    words = options.stop_words
    if isinstance(words, str):
        words = resources.stop_words or (stop_words_of(words) if words else ())
    spelled = {_as_token(word, options) for word in words}
    stem = stemming_of(options.stemming) if options.stemming else None
    try:
        return kernel.Vocabulary(options.seed, sorted(spelled), stem)
    except UnicodeEncodeError as error:
        raise OptionError(f"a stop word has a lone surrogate: {error}") from error


def _as_token(word: str, options: TextSketch) -> str:
    word = normalised(word, options.normalisation)
    return lower_cased(word) if options.lowercase else word
