"""Notebooks. In come `.ipynb` files and Databricks' sources, out go their cells as one Python module and their shell commands as scripts, each place
found again in the file.

Knows no framework; runs no magic.
"""

from stablint.base.later import later

later(__name__, "large", "reader")
