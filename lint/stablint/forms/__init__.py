"""What a file of each framework may hold. In come the name of a form (`axolotl`, `trl-sft`) and releases, out goes a JSON Schema made from what is
known of its reader and its classes. Loaded by `stablint schema` only.

Knows no file that somebody has, and no command line.
"""
