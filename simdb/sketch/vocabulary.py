"""Vocabulary: hands the stop words and the stemmer of one sketch to the kernel."""

from simdb.ground.errors import OptionError
from simdb.running import kernel
from simdb.settings.resources import Resources
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.cleaning import cleaned, spelled
from simdb.sketch.language import stemming_of, stop_words_of
from simdb.sketch.normalisation import lower_cased


def make_vocabulary(options: TextSketch, resources: Resources) -> kernel.Vocabulary | None:
    """Return the kernel's vocabulary, which drops stop words and stems other tokens.

    None if the options ask for neither.  Stop words are normalised and lower-cased like tokens.
    """
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
    """Normalise and lower-case a stop word as the options say."""
    word = cleaned(spelled(word, options), options)
    return lower_cased(word) if options.lowercase else word
