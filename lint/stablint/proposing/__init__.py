"""From what somebody has to files that train on it. In come a model, cards and a framework, out go configuration and launch script with a reason
on each line, or a clear no. Loaded by `stablint new` only.

Knows no command line; whether it fits and is clean it asks `fitting` and `engine`.
"""
