"""Register: the search method for each kind of database and each name of a method in a plan."""

from collections.abc import Callable

from simdb.engine.search import methods
from simdb.engine.search.method import Method, Nearest
from simdb.engine.state.state import State
from simdb.engine.state.view import FINGERPRINTS, SIGNATURES
from simdb.results.plans import Plan
from simdb.settings.options import BANDING, BPHS, EXHAUSTIVE, MULTIPROBE, POLYTOPE, PSM, ROTATION

# A method is loaded when it is first asked for.
METHODS: dict[str, dict[str, Callable[[], Method]]] = {
    FINGERPRINTS: {
        EXHAUSTIVE: lambda: methods.exhaustive.METHOD,
        BPHS: lambda: methods.permuted.METHOD,
        PSM: lambda: methods.probing.METHOD,
        MULTIPROBE: lambda: methods.probing.METHOD,
        POLYTOPE: lambda: methods.polytopes.METHOD,
        ROTATION: lambda: methods.rotation.METHOD,
    },
    SIGNATURES: {
        BANDING: lambda: methods.bands.BANDING_METHOD,
        EXHAUSTIVE: lambda: methods.bands.EXHAUSTIVE_METHOD,
    },
}


def nearest_by_scan(state: State) -> Nearest:
    """Return the function that finds the best documents by comparing all."""
    found = METHODS[state.kind.stores][EXHAUSTIVE]().nearest
    assert found is not None
    return found


def method_of(state: State, plan: Plan) -> Method:
    """Return the method that carries out a plan."""
    return METHODS[state.kind.stores][plan.method]()
