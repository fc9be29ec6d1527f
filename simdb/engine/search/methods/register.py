"""Register: the search method for each kind of database and each name of a method in a plan."""

from simdb.engine.search.method import Method
from simdb.engine.search.methods import bands, exhaustive, permuted, polytopes, probing, rotation
from simdb.engine.state.state import State
from simdb.engine.state.view import FINGERPRINTS, SIGNATURES
from simdb.options import BANDING, BPHS, EXHAUSTIVE, MULTIPROBE, POLYTOPE, PSM, ROTATION
from simdb.plans import Plan

METHODS: dict[str, dict[str, Method]] = {
    FINGERPRINTS: {
        EXHAUSTIVE: exhaustive.METHOD,
        BPHS: permuted.METHOD,
        PSM: probing.METHOD,
        MULTIPROBE: probing.METHOD,
        POLYTOPE: polytopes.METHOD,
        ROTATION: rotation.METHOD,
    },
    SIGNATURES: {BANDING: bands.BANDING_METHOD, EXHAUSTIVE: bands.EXHAUSTIVE_METHOD},
}


def method_of(state: State, plan: Plan) -> Method:
    """Return the method that carries out a plan."""
    return METHODS[state.kind.stores][plan.method]
