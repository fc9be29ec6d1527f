"""Batches of the readers, turned back into single records."""

from simdb.files.records import Record


def records_of(batch):
    """Return the documents of a batch as records."""
    lines = batch.lines or [None] * len(batch)
    fields = batch.fields or [None] * len(batch)
    return [
        Record(
            id=id, text=text, source=source, position=position, size_bytes=size, line=line,
            fields=named,
        )
        for id, text, source, position, size, line, named in zip(
            batch.ids, batch.texts, batch.sources, batch.positions.tolist(), batch.sizes.tolist(),
            lines, fields,
            strict=True,
        )
    ]  # fmt: skip
