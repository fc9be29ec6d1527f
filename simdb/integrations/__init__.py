"""Integrations: the public addresses of simdb inside other libraries; the code is in `compat`."""
