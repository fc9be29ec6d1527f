"""Integrations: simdb inside other libraries; a program imports the module for its library."""
