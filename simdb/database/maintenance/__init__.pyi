from simdb.database.maintenance import (
    advice as advice,
    calibration as calibration,
    compaction as compaction,
    dump as dump,
    inspection as inspection,
    merge as merge,
    rebuild as rebuild,
)
