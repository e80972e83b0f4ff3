"""Notebooks: their cells as one Python module, their shell commands as scripts, each place found again in the file."""
