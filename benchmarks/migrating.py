"""`stablint migrate` over folders of real files, judged by the config classes of the releases that it migrates to.

    STABLINT_ORACLE=oracle/bin/python python benchmarks/migrating.py FOLDER … [--verbose]

Every file is rewritten in memory for the releases that the oracle has; of each of its runs the settings of the config class, as they
are then written, are handed to the real class. Nothing is written to the folders. Exit code 1 where a class still refuses a name that
`migrate` did not speak of, where a second pass changes something, or where it fails.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from stablint.commands.migrate import migrate, migrations
from stablint.config.options import Wrong, options
from stablint.engine.inspect import inspect
from stablint.files.discover import NoSuchPath
from stablint.run.fact import Explicit, is_unknown
from stablint.run.releases.fields import field
from stablint.run.world import Run
from tests.differential.judge import Judge, NoOracle

_SUFFIXES = (".yaml", ".yml", ".json", ".py", ".sh", ".ipynb")
_READ_BY_THE_CLASS = frozenset({"", "transformers", "trl"})  # LLaMA-Factory and others have a subclass that takes more
_ENVIRONMENT = frozenset(
    {"deepspeed", "fsdp", "fsdp_config", "accelerator_config", "output_dir", "bf16", "fp16", "tf32"}
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--verbose", action="store_true", help="each refusal")
    given = parser.parse_args(arguments)
    try:
        judge = Judge()
    except NoOracle as error:
        print(f"migrating: {error}", file=sys.stderr)
        return 2
    new = options(releases=[f"{name}=={judge.versions[name]}" for name in ("transformers", "trl", "peft")])
    old = options()
    files = changed = runs = refused_before = refused_after = unspoken = bad = 0
    for path in _files(given.folder):
        try:
            made = migrate([str(path)], new, old)
        except (Wrong, NoSuchPath):
            continue  # no training configuration
        files += 1
        texts = made.done.texts
        changed += bool(texts)
        if texts and _changes_again(str(path), new, texts):
            bad += 1
            print(f"{path}: a second pass changes something")
        before = inspect([str(path)], new, known=())
        after = inspect([str(path)], new, known=(), texts=texts)
        for was, run in zip(before.runs, after.runs, strict=False):
            owner = run.classes.get("training", ("",))[0]
            if owner.startswith("?") or owner.split(".")[0] not in ("transformers", "trl"):
                continue
            if run.framework not in _READ_BY_THE_CLASS:
                continue
            runs += 1
            refused_before += judge.refuses(owner, _arguments(was, owner)) is not None
            error = judge.refuses(owner, _arguments(run, owner))
            if error is None:
                continue
            refused_after += 1
            told = [d.code for d in made.done.inspection.report.diagnostics if d.severity != "info"]
            unspoken += not told and "unexpected keyword" in error
            if given.verbose:
                print(f"{path}: {owner}: {error[:200]}  told: {', '.join(told) or 'nothing'}")
    judge.close()
    print(
        f"{files} files, {changed} changed, {runs} runs of a known class: refused before {refused_before}, after {refused_after}, "
        f"{unspoken} of these for a name that nothing was said of; {bad} bad"
    )
    return 1 if bad or unspoken else 0


def _files(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        if folder.is_file():
            yield folder
        for where, _, names in os.walk(folder):
            yield from (Path(where, name) for name in sorted(names) if name.endswith(_SUFFIXES))


def _changes_again(path: str, new: Any, texts: Any) -> bool:
    """Whether the text that came out of a first pass would be changed by a second."""
    from stablint.engine.repair import repair

    again = repair([path], new, unsafe=True, base=os.getcwd(), known=tuple(migrations()), texts=texts)
    return any(texts.get(name) != text for name, text in again.texts.items())


def _arguments(run: Run, owner: str) -> dict[str, Any]:
    """The keywords of the config class as they are written, those that only older releases have too; what depends on the machine or on
    other files is left out, and so are nested keys."""
    found = {}
    for name, fact in run.explicit.items():
        if is_unknown(fact.value) or not isinstance(fact.origin, Explicit) or len(fact.origin.place.path) > 1:
            continue
        key = fact.origin.place.path[-1] if fact.origin.place.path else name.rpartition(".")[2]
        known = field(owner, key) is not None or field("transformers.TrainingArguments", key) is not None
        if known and key not in _ENVIRONMENT and fact.sources and not is_unknown(fact.sources[0].raw):
            found[key] = fact.sources[0].raw
    return found


if __name__ == "__main__":
    sys.exit(main())
