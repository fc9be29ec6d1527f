"""Shortness: whether the documents of a database are too short for its threshold.

Texts are not stored, but their weights and minima tell about how many features they have.
"""

from collections.abc import Iterator

import numpy as np

from simdb.engine.state.documents import stored_sketches
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.results.reports import Advice
from simdb.settings.options import Options
from simdb.tuning.lengths import SHORT_WORDS
from simdb.tuning.stored import is_telling, median_features
from simdb.values.arrays import WEIGHTED

SAMPLED_DOCUMENTS = 1024
# With fewer documents, the estimate is too rough.
DOCUMENTS_LEAST = 100


def advice_on_shortness(store: Store, state: State) -> Iterator[Advice]:
    """Yield advice if most documents are short and match by the default threshold."""
    options = store.options
    if not _has_default(options) or not is_telling(options.sketch):
        return
    live = state.live()
    places = np.linspace(0, len(live) - 1, min(len(live), SAMPLED_DOCUMENTS)).astype(np.int64)
    sketches = stored_sketches(state, live[places])
    vectors = sketches.vectors[sketches.states == WEIGHTED]
    if len(vectors) < DOCUMENTS_LEAST:
        return
    features = median_features(options.sketch, vectors)
    if features is None or features + options.sketch.shingle - 1 >= SHORT_WORDS:
        return
    yield Advice(
        "short documents",
        f"half of the documents have at most about {features:.0f} features, so they are short texts"
        f" of fewer than {SHORT_WORDS} words",
        f"one changed word takes most of them below the default threshold of {options.similarity}",
        "simdb tune SOURCE..., with the documents, and a new database with the options it prints",
    )


def _has_default(options: Options) -> bool:
    """Return whether documents match by the default threshold of the sketch."""
    return options.similarity == options.sketch.usual_similarity
