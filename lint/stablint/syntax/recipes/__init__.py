"""Files in which commands stand among other things: Dockerfiles, Makefiles, justfiles, workflows of a forge, manifests of a cluster."""
