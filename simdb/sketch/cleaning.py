"""Cleaning: what the options say of characters, for the kernel and for what Python does itself."""

from typing import Any

from simdb.running import kernel
from simdb.settings.text_sketch import DROP, NFC, NONE, TextSketch
from simdb.sketch.normalisation import normalised, without_marks


def cleaning_of(options: TextSketch) -> dict[str, Any]:
    """Return the arguments by which the kernel cleans texts; empty if it takes them as they are."""
    if not options.clean:
        return {}
    compose = str if options.normalisation == NONE else composed
    return {"compose": compose, "turkic": options.turkic_case}


def cleaned(text: str, options: TextSketch) -> str:
    """Return a text as the kernel cuts it."""
    cleaning = cleaning_of(options)
    return kernel.cleaned(text, lowercase=options.lowercase, **cleaning) if cleaning else text


def spelled(text: str, options: TextSketch) -> str:
    """Return a text in the normal form, and without marks if the options say so."""
    text = normalised(text, options.normalisation)
    return without_marks(text) if options.marks == DROP else text


def composed(text: str) -> str:
    """Return the text in NFC."""
    return normalised(text, NFC)
