"""Print knowledge/forward_names.txt: what `forward` of any model of transformers takes by name.

python tools/read_forwards.py FOLDER      FOLDER holds unpacked wheels: transformers-5.24.0/transformers/…
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap


def forwards(module: ast.Module) -> Iterator[str]:
    """The parameters of the heads and whole models of a modeling file."""
    classes = {one.name: one for one in module.body if isinstance(one, ast.ClassDef)}

    def is_model(one: ast.ClassDef, depth: int = 0) -> bool:
        bases = [ast.unparse(base) for base in one.bases]
        return any(
            "PreTrainedModel" in name or (depth < 4 and name in classes and is_model(classes[name], depth + 1))
            for name in bases
        )

    for one in classes.values():
        if ("For" in one.name[1:] or one.name.endswith("Model")) and is_model(one):
            for method in one.body:
                if isinstance(method, ast.FunctionDef) and method.name == "forward":
                    yield from (argument.arg for argument in (*method.args.args[1:], *method.args.kwonlyargs))


def main(folder: str) -> int:
    files = [
        path
        for path in Path(folder).glob("transformers-*/transformers/models/*/modeling_*.py")
        if "_tf_" not in path.name and "_flax_" not in path.name
    ]
    names = {name for path in files for name in forwards(ast.parse(path.read_text(encoding="utf-8")))}
    print("\n".join(wrap(" ".join(sorted(names)), 140)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
