"""Covering: a few cases of a test with several parameters, in which every value occurs."""


def covering(cases):
    """Return the positions of cases that together have each value of each parameter.

    A case is a dict from parameters to values.  As few as possible are chosen, greedily: next is
    the case with the most values that no chosen case has, the first of several such cases.
    """
    wanted = {value for case in cases for value in case.items()}
    chosen = []
    while wanted:
        best = max(range(len(cases)), key=lambda at: len(wanted & cases[at].items()))
        chosen.append(best)
        wanted -= cases[best].items()
    return chosen
