"""Commands that start a training: which program reads which flags, what its launcher adds, what a program at hand declares itself."""
