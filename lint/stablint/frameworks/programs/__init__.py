"""Python programs that train: which calls make the run, and what the program does with its model, arguments and trainer besides."""
