"""What few checks need of Python and of other libraries: each is imported when somebody first uses it.

Who needs one imports it from here, at the top as any other: `from stablint.base.libraries import difflib`.
"""

from stablint.base.later import Waiting

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

    import yaml as yaml
    from babel.messages import pofile as pofile
    from ruamel import yaml as _ruamel_yaml

    ruamel_yaml = _ruamel_yaml
else:
    ast = Waiting("ast")
    ctypes = Waiting("ctypes")
    difflib = Waiting("difflib")
    fnmatch = Waiting("fnmatch")
    fractions = Waiting("fractions")
    hashlib = Waiting("hashlib")
    metadata = Waiting("importlib.metadata")
    pofile = Waiting("babel.messages.pofile")
    ruamel_yaml = Waiting("ruamel.yaml")
    shlex = Waiting("shlex")
    tokenize = Waiting("tokenize")
    traceback = Waiting("traceback")
    unicodedata = Waiting("unicodedata")
    warnings = Waiting("warnings")
    yaml = Waiting("yaml")
