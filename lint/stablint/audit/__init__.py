"""Is what stablint knows still true? In come the knowledge of a checkout and archives of libraries, out go doubts with their places. Loaded by
`stablint knowledge audit` only.

Knows no configuration that somebody checks, and asks no network.
"""
