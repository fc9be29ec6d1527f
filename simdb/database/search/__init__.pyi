from simdb.database.search import (
    buckets as buckets,
    contained as contained,
    couples as couples,
    explanation as explanation,
    judge as judge,
    many as many,
    nearest as nearest,
    pairs as pairs,
    planning as planning,
)
