"""Is what stablint knows still true? `stablint knowledge audit`, for those who keep the knowledge; never on the path of a check."""
