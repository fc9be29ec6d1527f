"""Maintenance: the verbs that inspect, repair, shrink, copy and calibrate a database."""
