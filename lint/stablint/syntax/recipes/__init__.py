"""Files in which commands stand among other things. In come Dockerfiles, Makefiles, justfiles, workflows of a forge, manifests of a cluster and
guides, out go their commands as scripts.

Knows no framework; expands only what the file itself says.
"""

from stablint.base.later import later

later(__name__, "dockerfile", "guide", "justfile", "makefile", "workflow", "workload")
