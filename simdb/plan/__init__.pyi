from simdb.plan import (
    banding as banding,
    compaction as compaction,
    polytopes as polytopes,
    volatility as volatility,
)
from simdb.plan.banding import (
    Background as Background,
    Banding as Banding,
    Bands as Bands,
    background_of as background_of,
    band_keys as band_keys,
    bands_of as bands_of,
    expected_candidates as expected_candidates,
    fewest_bands as fewest_bands,
)
from simdb.plan.bands import BandedPopulation as BandedPopulation
from simdb.plan.calibration import (
    NOISE_LEAST as NOISE_LEAST,
    NOISE_MOST as NOISE_MOST,
    QUERIES_LEAST as QUERIES_LEAST,
    SAMPLED_DISTANCE as SAMPLED_DISTANCE,
    USUAL_DELAYS as USUAL_DELAYS,
    Calibration as Calibration,
    Delays as Delays,
    copied as copied,
    covered_by as covered_by,
    decode_calibration as decode_calibration,
    delays_of as delays_of,
    encode_calibration as encode_calibration,
    is_noise as is_noise,
)
from simdb.plan.chance import firm_distance as firm_distance, odd_distance as odd_distance
from simdb.plan.nearest import (
    NearestStep as NearestStep,
    Steps as Steps,
    steps_by_distance as steps_by_distance,
    steps_by_similarity as steps_by_similarity,
    worthwhile as worthwhile,
)
from simdb.plan.parts import (
    HashParts as HashParts,
    HashPopulation as HashPopulation,
    fitted_order as fitted_order,
)
from simdb.plan.pigeonhole import (
    BLOCKS_MAX as BLOCKS_MAX,
    NOT_READ as NOT_READ,
    check_arrangement as check_arrangement,
    choose_tables as choose_tables,
    tables_read as tables_read,
)
from simdb.plan.planner import (
    AnyPopulation as AnyPopulation,
    choose as choose,
    explained as explained,
    preferred as preferred,
)
from simdb.plan.polytopes import (
    ALL_SIGNS as ALL_SIGNS,
    EITHER as EITHER,
    KEY_SIGNS as KEY_SIGNS,
    MEETING as MEETING,
    SEEN as SEEN,
    probe_count as probe_count,
    sign_limits as sign_limits,
    table_share as table_share,
    thresholds as thresholds,
    universal as universal,
)
from simdb.plan.probing import ATTEMPTS_MAX as ATTEMPTS_MAX, wants_glimpse as wants_glimpse
from simdb.plan.problem import (
    FINGERPRINT_BYTES as FINGERPRINT_BYTES,
    Criterion as Criterion,
    Paging as Paging,
    PolytopeRun as PolytopeRun,
    Population as Population,
    Problem as Problem,
    pays_in_windows as pays_in_windows,
)
from simdb.plan.recall import (
    FlipEvidence as FlipEvidence,
    SampledPairs as SampledPairs,
    combined as combined,
    count_sets as count_sets,
    distances as distances,
    least_reached as least_reached,
)
from simdb.plan.rotation import WINDOW as WINDOW, check_rotations as check_rotations
from simdb.plan.tables import (
    Permutations as Permutations,
    swept_masks as swept_masks,
    unlike_share as unlike_share,
)
from simdb.plan.volatility import (
    NEVER as NEVER,
    STORED_STEP as STORED_STEP,
    VolatilityModel as VolatilityModel,
)
