"""What few checks need of Python and of other libraries: each is imported when somebody first uses it.

Who needs one imports it from here, at the top as any other: `from stablint.base.libraries import difflib`.
"""

from importlib import import_module

TYPE_CHECKING = False  # `typing` is not worth its price here
if TYPE_CHECKING:
    import ast as ast
    import ctypes as ctypes
    import difflib as difflib
    import fnmatch as fnmatch
    import fractions as fractions
    import hashlib as hashlib
    import shlex as shlex
    import tokenize as tokenize
    import traceback as traceback
    import unicodedata as unicodedata
    import warnings as warnings
    from importlib import metadata as metadata
    from typing import Any

    import yaml as yaml
    from babel.messages import pofile as pofile
    from ruamel import yaml as _ruamel_yaml

    ruamel_yaml = _ruamel_yaml
else:

    class _Library:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> "Any":
            return getattr(import_module(self._name), attribute)

    ast = _Library("ast")
    ctypes = _Library("ctypes")
    difflib = _Library("difflib")
    fnmatch = _Library("fnmatch")
    fractions = _Library("fractions")
    hashlib = _Library("hashlib")
    metadata = _Library("importlib.metadata")
    pofile = _Library("babel.messages.pofile")
    ruamel_yaml = _Library("ruamel.yaml")
    shlex = _Library("shlex")
    tokenize = _Library("tokenize")
    traceback = _Library("traceback")
    unicodedata = _Library("unicodedata")
    warnings = _Library("warnings")
    yaml = _Library("yaml")
