"""The commands, one module each: in come words of a command line, out go texts and an exit code.

`spec` says which commands and options there are, `arguments` and `parsers` read them; nothing but the command line imports from here.
"""
