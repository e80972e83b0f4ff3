"""`stablint schema`: the JSON Schema of a framework's configuration in one release, for editors and for check-jsonschema."""

from __future__ import annotations

import argparse
import json

from stablint.config.options import options
from stablint.config.spec import CLEAN
from stablint.forms.schema import schema
from stablint.run.forms import forms
from stablint.secrets import exit


def run_schema(given: argparse.Namespace) -> int:
    """Prints the schema, or the names that there are. Raises Wrong."""
    if given.name is None:
        exit.say("".join(f"{name:20}{form.title}\n" for name, form in forms().items()))
        return CLEAN
    made = schema(given.name, options(releases=given.releases))
    exit.hand_over(json.dumps(made, indent=2, ensure_ascii=False) + "\n")
    return CLEAN
