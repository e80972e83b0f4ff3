"""Releases of libraries. In come specifiers and dates, out goes which releases a run may meet, and what each accepts: fields, defaults, names, keys
and signatures.

Knows no text and no rule; versions are compared as PEP 440 orders them.
"""
