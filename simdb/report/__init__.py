"""Report: one self-contained HTML page about a database, for people.

`gather` collects the facts within stated limits, `figures` draws them, and `page` writes the page.
jinja2 and matplotlib are optional (`pip install jinja2 matplotlib`), and loaded only for a page.
"""
