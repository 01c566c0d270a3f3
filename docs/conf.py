"""How the documentation is built: `sphinx-build -W docs build/docs`. Notebooks are executed; nothing is fetched from the network."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "mvsim"
author = "mvsim authors"
copyright = author

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
extensions += ["docstrings", "mathml", "public_names", "registries", "repository_links"]  # in _ext

exclude_patterns = ["_*"]
default_role = "py:obj"  # `name` in a docstring is a link where it can be one
html_math_renderer = "mathml"  # formulas are drawn by the browser itself

templates_path = ["_templates"]
html_theme = "furo"
html_title = "mvsim"
html_static_path = ["_static"]
html_css_files = ["mvsim.css"]
html_show_copyright = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True  # run files are written away from the sources
nb_merge_streams = True
nb_output_stderr = "remove"  # progress, and warnings with paths of one machine

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
