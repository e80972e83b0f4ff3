"""Files in which commands stand among other things: Dockerfiles, Makefiles, justfiles, workflows of a forge, manifests of a cluster."""

from stablint.base.later import later

later(__name__, "dockerfile", "guide", "justfile", "makefile", "workflow", "workload")
