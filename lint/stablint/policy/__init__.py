"""What counts for each file: which rules, at what severity, what is accepted. Made by `config`, asked by all that judge and report.

Knows no settings file.
"""
