"""Empty databases: plans queries and explains two documents in a database in memory."""

import simdb
from simdb.database.search.planning import plan_without_database
from simdb.database.search.question import Question


def planned(documents, options=None, *, has_weights=True, memory=None, **asked):
    """Plan a query in a database of a number of documents, with or without weights."""
    options = simdb.Options() if options is None else options
    question = Question(**asked)
    return plan_without_database(
        options, documents, question, has_weights=has_weights, memory=memory
    )


def explained(left, right, sketch=None, **asked):
    """Explain why two documents match, or do not."""
    options = simdb.Options() if sketch is None else simdb.Options(sketch=sketch)
    with simdb.open(None, options=options) as database:
        return database.explain(document=left, other_document=right, **asked)
