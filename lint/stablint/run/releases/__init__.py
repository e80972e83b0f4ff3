"""Releases of libraries: which a run may meet, and what each accepts: fields, defaults, names, keys and signatures."""
