from simdb.database.search import (
    couples as couples,
    judge as judge,
    many as many,
    nearest as nearest,
    pairs as pairs,
    planning as planning,
)
