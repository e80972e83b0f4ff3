"""Shell: scripts to commands with their flags, as far as the script itself says them, and edits of flags and variables."""
