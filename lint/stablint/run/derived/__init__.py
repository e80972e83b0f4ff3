"""Facts that follow from others: one small function a fact, each says which facts decided it. Modules that few runs ask for are loaded late."""
