"""Read what each of LLaMA-Factory's templates marks a turn with, from an unpacked release: prints knowledge/chat_marks.yaml.

python tools/read_templates.py FOLDER   (the folder that holds `llamafactory/`; `pip download --no-deps`, unzip)
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

_MARK = re.compile(r"<[|｜]?[\w/▁ ]+[|｜]?>|\[/?INST\]|\][\w~]+\[|\[e~\[|\]~b\]|\[\|\w+\|\]")


def marks(source: str) -> dict[str, list[str]]:
    """By template the marks in its form of a user's turn, sorted; a template without any writes plain text."""
    found: dict[str, list[str]] = {}
    for node in ast.parse(source).body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "register_template":
            said = {one.arg: one.value for one in call.keywords}
            form = said.get("format_user")
            words = [one.value for one in ast.walk(form) if isinstance(one, ast.Constant)] if form is not None else []
            text = " ".join(word for word in words if isinstance(word, str) and word not in ("bos_token", "eos_token"))
            found[ast.literal_eval(said["name"])] = sorted(set(_MARK.findall(text)))
    return found


def main(folder: Path) -> None:
    for name, found in sorted(marks((folder / "llamafactory/data/template.py").read_text(encoding="utf-8")).items()):
        print(f"{name}: [{', '.join(f'{mark!r}' for mark in found)}]")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
