"""Which files a check reads, and what of them is left out. In come paths as the user names them, out go files with their documents.

Knows git and globs; knows no framework. Nothing is executed.
"""

from stablint.base.later import later

later(__name__, "gitignore", "relevance")
