"""The commits of a library that change how it trains: read from a git copy of its history, nothing is checked out or run."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_PULL = re.compile(r"\(#(\d+)\)")
_VERSION = re.compile(r"""^\s*(?:_*version_*\s*=\s*f?)?["']?(\d+\.\d+(?:\.\d+)?)""", re.MULTILINE | re.IGNORECASE)
_TOLD = {"warn", "warning", "warning_once", "warning_rank0", "info", "info_once", "info_rank0", "debug", "error", "critical", "print", "warn_once"}  # fmt: skip


@dataclass(frozen=True)
class Commit:
    """One change of the files that decide a training. `release` is the one that the main branch was on its way to."""

    sha: str
    date: str
    release: str
    pull: int | None
    subject: str
    functions: tuple[str, ...]


class _Essence(ast.NodeTransformer):
    """Leaves of a module what can change a training: no docstring, annotation, import, help text or message."""

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        kept = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
        return kept or [ast.Pass()]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(getattr(node, "body", None), list):
            node.body = self._body(node.body)  # type: ignore[attr-defined]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)  # types of fields stand in knowledge/releases
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """The number of a release is no change."""
        named = {one.id for one in node.targets if isinstance(one, ast.Name)}
        return None if named == {"__version__"} else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """That it raises counts, and what kind; what it says does not."""
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _TOLD:
            return ast.Constant(None)
        if name == "field":
            node.keywords = [one for one in node.keywords if one.arg != "metadata"]
        return self.generic_visit(node)


def essence(source: str) -> dict[str, str]:
    """Each function of a module, and the rest, without what only readers, type checkers and the tables of fields see."""
    try:
        tree = _Essence().visit(ast.parse(source))
    except SyntaxError:
        return {"": source}
    return dict(_parts(tree.body, ""))


def _parts(body: Sequence[ast.stmt], within: str) -> Iterator[tuple[str, str]]:
    rest = []
    for one in body:
        if isinstance(one, ast.ClassDef):
            yield from _parts(one.body, f"{within}{one.name}.")
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{one.name}", ast.dump(one)
        elif not (isinstance(one, ast.AnnAssign) and within):  # fields stand in knowledge/releases, by release
            rest.append(ast.dump(one))
    yield within, " ".join(rest)


class History:
    """A bare copy of a repository, asked for its main line."""

    def __init__(
        self, folder: Path, tip: str, paths: Sequence[str], version_files: Sequence[str], outside: str
    ) -> None:
        self.folder, self.tip, self.paths, self.version_files = folder, tip, list(paths), version_files
        self.outside = re.compile(outside)
        self._versions: dict[str, str] = {}
        self._last = ""

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode:
            raise RuntimeError(f"git {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def _file(self, commit: str, path: str) -> str:
        """The text of a file at a commit, nothing where it was not there."""
        try:
            return self._git("show", f"{commit}:{path}")
        except RuntimeError:
            return ""

    def _blob(self, commit: str, path: str) -> str:
        return self._git("ls-tree", "--object-only", commit, "--", path).strip()

    def _version(self, commit: str) -> str:
        """The release that the first version file with one names: 4.46.0.dev0 is on the way to 4.46.0. Where none does, that of the commit
        that was asked for before it."""
        for path in self.version_files:
            blob = self._blob(commit, path)
            if blob and blob not in self._versions:
                text = self._git("cat-file", "blob", blob)
                line = next(
                    (one for one in text.splitlines() if "version" in one.lower() and _VERSION.search(one)), text
                )
                found = _VERSION.search(line)
                self._versions[blob] = found.group(1) if found else ""
            if blob and self._versions[blob]:
                self._last = self._versions[blob]
                break
        return self._last

    def _changed(self, commit: str, files: Sequence[str]) -> Iterator[str]:
        """The functions that a commit changes, but for those that train nothing by their name."""
        for one in files:
            before, after = essence(self._file(f"{commit}^", one)), essence(self._file(commit, one))
            for name in sorted(before.keys() | after.keys()):
                if before.get(name) != after.get(name) and not self.outside.search(name):
                    yield name or Path(one).stem

    def commits(self, since: str) -> Iterator[Commit]:
        """From the oldest on: what touches the training paths and is more than text, types and imports."""
        text = self._git(
            "log", "--first-parent", "--reverse", "--no-renames", f"--since={since}", "-m", "--name-only",
            "--format=%x01%h%x02%cs%x02%s", "--abbrev=10", self.tip, "--", *self.paths,
        )  # fmt: skip
        for block in text.split("\x01")[1:]:
            head, _, rest = block.partition("\n")
            sha, date, subject = head.split("\x02")
            files = tuple(line for line in rest.splitlines() if line.endswith(".py"))
            changed = tuple(self._changed(sha, files))
            if changed:
                pulls = _PULL.findall(subject)
                yield Commit(sha, date, self._version(sha), int(pulls[-1]) if pulls else None, subject, changed)
