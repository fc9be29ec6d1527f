"""Chosen texts: reads sources once, and keeps the texts of a few documents."""

from collections.abc import Collection

from simdb.cli.reading.intake import Intake
from simdb.settings.options import Simhash
from simdb.tuning.sample import as_text
from simdb.values.arrays import Id

# Texts are only shown, so there is nothing to say about mark-up.
READ_AS = Simhash(markup="html")


def chosen_texts(intake: Intake, wanted: Collection[Id]) -> dict[Id, str]:
    """Return the texts of the ids that are `wanted`, as far as the sources have them.

    A later text of an id replaces an earlier one.
    """
    chosen = frozenset(wanted)
    found: dict[Id, str] = {}
    for batch in intake.batches(READ_AS):
        for at, id in enumerate(batch.ids):
            if id in chosen:
                found[id] = as_text(batch.texts[at], str(id))
    return found
