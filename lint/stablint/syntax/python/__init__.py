"""Python: programs to calls with their arguments, parsed and never run, and edits of single arguments."""
