"""Advice: improvements of a database, with reasons; giving advice changes nothing.

Advice is not about damage, which `check` finds: a database that gets advice keeps all its promises.

Texts need not be stored, so weights and minima show about how many features a document has, and
thus whether the documents are too short for the threshold.
"""

import os
import shutil
import stat
from collections.abc import Iterator

import numpy as np

from simdb import storage
from simdb.core.arrays import WEIGHTED
from simdb.core.reports import Advice
from simdb.database.maintenance.calibration import is_worth
from simdb.database.state.documents import stored_sketches
from simdb.database.state.staged import now_seconds
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.sketch import CONCERNS, SHORT_WORDS, installed_versions, is_telling, median_features
from simdb.storage import file_system

# A reader this many commits behind is not a query; pages freed since then cannot be reused.
LAG_COMMITS = 100
DELETED_LEAST = 1000
DELETED_SHARE = 0.2
# Sizes grow by a factor from run to run, so a billion documents need no more runs than this.
RUNS_MANY = 12
MAP_SHARE = 0.9
FREE_LEAST_BYTES = 1 << 24
FREE_FACTOR = 2
# A look-up reads all documents of a header, which normally costs less than finding the header.
HEADER_DOCUMENTS = 4096
FOREIGN_WRITE, OTHERS_WRITE = 0o022, 0o002
CLOCK_SECONDS = 86_400  # clocks of machines that share a database may differ
VOLATILE_TYPES = {"tmpfs", "ramfs"}
SAMPLED_DOCUMENTS = 1024
# With fewer documents, the estimate is too rough.
DOCUMENTS_LEAST = 100


def advice(store: Store) -> Iterator[Advice]:
    """Yield all advice for an open database, the most urgent first."""
    path = store.environment.path
    yield from advice_on_place(path)
    yield from _on_modes(path)
    yield from _on_packages(store)
    with store.state() as state:
        contents = store.contents(state.source)
        file_bytes, live_bytes, map_bytes = store.environment.sizes(state.source.transaction)
        yield from _on_readers(store, contents.transaction_number)
        yield from _on_sizes(path, file_bytes, live_bytes, map_bytes)
        yield from _on_runs(path, contents.manifest)
        yield from _on_headers(store, state)
        yield from _on_calibration(store, state, contents.manifest)
        yield from advice_on_shortness(store, state)
        if store.options.keeps_times:
            yield from _on_times(state)


def advice_on_place(path: str) -> Iterator[Advice]:
    """Yield advice on the file system of `path`, where a database need not exist."""
    kind = file_system(path)
    if kind in storage.NETWORK_TYPES or kind.startswith("fuse."):
        yield Advice(
            "file system",
            f"{path} lies on {kind}",
            "memory maps and locks of file systems over a network or in user space may not work as"
            " on one machine: two writers, or readers of half a commit, are possible",
            "move the directory to a local disk",
        )
    if kind in VOLATILE_TYPES:
        yield Advice(
            "file system",
            f"{path} lies in memory ({kind})",
            "the database is lost when the machine stops, even with durability='full'",
            f"simdb copy {path} TARGET, with TARGET on a disk",
        )


def _on_modes(path: str) -> Iterator[Advice]:
    wide = []
    for name in sorted(storage.OWN_FILES):
        try:
            mode = stat.S_IMODE(os.stat(os.path.join(path, name)).st_mode)
        except FileNotFoundError:
            continue
        if mode & ~storage.file_mode(path, name):
            wide.append(f"{name} {mode:04o}")
    why = "other users may read the ids and metadata, or change the database"
    if wide:
        yield Advice(
            "permissions",
            f"other users have access to files: {', '.join(wide)}",
            why,
            f"chmod 600 {path}/*",
        )
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & (OTHERS_WRITE if storage.is_shared(path) else FOREIGN_WRITE):
        what = f"other users may put files into the directory, whose mode is {mode:04o}"
        yield Advice("permissions", what, why, f"chmod 700 {path}")


def _on_times(state: State) -> Iterator[Advice]:
    """Yield advice on documents that `expire` keeps although they may be old."""
    times = state.times()[state.live()]
    future = int(np.count_nonzero(times > now_seconds() + CLOCK_SECONDS))
    missing = int(np.count_nonzero(times == 0))
    again = "insert these documents again, or delete them by id or by their metadata"
    if future:
        yield Advice(
            "times",
            f"{future} documents have times that lie more than a day ahead of the clock",
            "the clock was wrong when they were inserted or seen, or it is wrong now; expire keeps"
            " them until then",
            f"set the clock; {again}",
        )
    if missing:
        yield Advice(
            "times",
            f"{missing} documents have no time",
            "their stored times were damaged when the database was rebuilt; expire keeps them",
            again,
        )


def _on_packages(store: Store) -> Iterator[Advice]:
    made = storage.read_resources(store.environment).versions
    installed = installed_versions(store.options.sketch)
    for name, version in made.items():
        found = installed.get(name)
        if found != version:
            state = "it is not installed" if found is None else f"version {found} is installed"
            yield Advice(
                "packages",
                f"{name} {version} made the database, and {state}",
                f"{CONCERNS.get(name, 'fingerprints')} may differ, and so may the matches",
                f"install {name} {version}, or build the database anew",
            )


def _on_readers(store: Store, newest: int) -> Iterator[Advice]:
    path = store.environment.path
    for process, _, number in store.environment.readers(clears=False):
        behind = newest - number
        if not _is_alive(process):
            yield Advice(
                "readers",
                f"process {process} has ended and still counts as a reader",
                f"no page freed in the last {behind} commits is used again: the file grows",
                f"simdb stats {path}, which drops dead readers",
            )
        elif behind >= LAG_COMMITS:
            yield Advice(
                "readers",
                f"process {process} has been reading while {behind} commits were made",
                "no page freed since is used again: the file grows",
                f"close the snapshots of process {process}",
            )


def _on_sizes(path: str, file_bytes: int, live_bytes: int, map_bytes: int) -> Iterator[Advice]:
    unused = file_bytes - live_bytes
    if file_bytes > FREE_FACTOR * live_bytes and unused > FREE_LEAST_BYTES:
        yield Advice(
            "size",
            f"{unused} of {file_bytes} bytes of the file are unused",
            "later commits use them again, but a backup of the directory copies them too",
            f"simdb compact {path}",
        )
    if file_bytes > MAP_SHARE * map_bytes:
        yield Advice(
            "size",
            f"the file has {file_bytes} bytes, and the map of this process {map_bytes}",
            "the map can grow only while this process has no snapshot open",
            "open it with a larger map_size= in the programs that use it",
        )
    free = shutil.disk_usage(path).free
    needed = max(0, live_bytes - max(0, unused))
    if free < needed:
        yield Advice(
            "disk",
            f"{free} bytes are free, and the largest commit needs {needed}",
            "a commit that merges all runs writes everything again before it frees the old pages;"
            " without enough space it fails and changes nothing",
            f"free some space on the disk of {path}",
        )


def _on_runs(path: str, manifest: storage.Manifest) -> Iterator[Advice]:
    deleted, stored = manifest.deleted_count, manifest.document_count
    if deleted >= DELETED_LEAST and deleted > DELETED_SHARE * (deleted + stored):
        yield Advice(
            "deleted documents",
            f"{deleted} of {deleted + stored} documents are deleted",
            "they take space, and every search that reaches them takes longer",
            f"simdb compact {path}",
        )
    if len(manifest.runs) > RUNS_MANY:
        yield Advice(
            "runs",
            f"the database has {len(manifest.runs)} runs",
            "a query probes the tables of each run",
            f"simdb compact {path}",
        )


def _on_headers(store: Store, state: State) -> Iterator[Advice]:
    """Yield advice if look-ups by one header are slow because many documents share it."""
    worst, where = HEADER_DOCUMENTS, ""
    names = storage.table_names(store.options)
    for run in state.runs:
        for name in names[: store.options.table_count]:
            directory = run.named_table(name, state.source).directory
            most = int(np.diff(directory).max()) if len(directory) > 2 else 0
            if most > worst:
                worst, where = most, f"{name.decode()} of run {run.info.number}"
    if where:
        yield Advice(
            "headers",
            f"{worst} documents share one header in {where}",
            "a query with this header compares all of them: they are a large group of equal or"
            " nearly equal documents",
            f"simdb clusters {store.environment.path} {store.kind.equal_option}, and insert by"
            " add_if_new",
        )


def _on_calibration(store: Store, state: State, manifest: storage.Manifest) -> Iterator[Advice]:
    if not is_worth(store, state, manifest):
        return
    weighted = manifest.document_count - manifest.empty_count - manifest.bare_count
    what = f"the database has {weighted} documents and no calibration"
    why = "queries by similarity probe more than necessary"
    if state.calibration is not None:
        unseen = state.next_ordinal - state.view.uncovered_from
        what = f"the calibration does not cover {unseen} documents, such as later ones"
        asking = "each query by similarity"
        if store.options.polytopes:
            asking = "each query by search='psm' or 'multiprobe', or by distance= and recall=,"
        why = f"{asking} probes more than necessary"
    yield Advice("calibration", what, why, f"simdb calibrate {store.environment.path}")


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # a process of another user
    return True


def advice_on_shortness(store: Store, state: State) -> Iterator[Advice]:
    """Yield advice if most documents are short and match by the default threshold."""
    options = store.options
    is_usual = round(options.similarity, 3) == options.scale.usual  # .80018 of earlier versions
    if not is_usual or not is_telling(options.sketch):
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
