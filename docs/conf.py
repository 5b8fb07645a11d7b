"""The site of the documents: `uv run --group docs sphinx-build -W docs build/site`.

The pages are Markdown that a forge shows as well; what only the site has stands in
`_extension/tarsus_site.py`. Notebooks (`tutorial.md`) run while the site is built, unless the
environment has TARSUS_DOCS_RUN=0.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import tarsus

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extension"))

project = "Tarsus"
author = "The Tarsus founders"
project_copyright = f"{author}, Apache-2.0"
version = release = tarsus.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "tarsus_site"]
exclude_patterns = ["_extension", "_build"]
root_doc = "index"
language = "en"

# Markdown
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # tables that are made put level 3 under level 1

# notebooks: a page that begins with a kernel runs; the others do not
nb_execution_mode = "off" if os.environ.get("TARSUS_DOCS_RUN") == "0" else "cache"
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_output_stderr = "show"
nb_merge_streams = True

# docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_type_aliases = {name: name for name in (
    "Array", "ArrayLike", "Citation", "Feedback", "FeedbackFunction", "Gain", "PushFunction",
    "Progress", "Torques", "Value", "Vector",
)}  # fmt: skip
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "code"

# pages
smartquotes_action = "D"  # dashes, but quotes of code stay straight
html_math_renderer = "mathml"  # tarsus_site
html_theme = "furo"
html_title = f"Tarsus {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"
