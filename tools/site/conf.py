"""Settings of Sphinx for the documentation site; tools/site/build.py copies this file."""

from pathlib import Path

project = "simdb"
author = "the authors of simdb"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# Sections of documents become pages of their own, which may begin below the second level.
suppress_warnings = ["myst.header"]
highlight_language = "none"
# Options begin with two hyphens, which must not become a dash.
smartquotes = False
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("_static") / "scorer.js")
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}
