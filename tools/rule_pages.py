"""Write docs/rules/: a page for every hazard, from its file; with --check, only say whether they are up to date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from stablint.base.language import gettext, translated
from stablint.compiling.hazards import asked
from stablint.log.template import printed_by
from stablint.report.explain import bites, sections
from stablint.report.words import grade, severity
from stablint.schema.hazard import CATEGORIES

ROOT = Path(__file__).resolve().parent.parent
HAZARDS, PAGES = ROOT / "knowledge" / "hazards", ROOT / "docs" / "rules"
_HEAD = "<!-- Made by tools/rule_pages.py from knowledge/hazards/{place}: change it there. -->\n"


def pages() -> dict[str, str]:
    """Every page by its path under docs/rules, in the language that is spoken."""
    made, rows = {}, []
    for path in sorted(HAZARDS.rglob("*.yaml")):
        hazard = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        hazard["when"] = asked(hazard)
        hazard = translated(hazard["id"], hazard)
        made[f"{hazard['code']}.md"] = page(hazard, path.relative_to(HAZARDS).as_posix())
        rows.append(hazard)
    made["README.md"] = index(rows)
    return made


def page(hazard: dict[str, Any], place: str) -> str:
    off = gettext(", off unless `select` or `severity` names it") if hazard.get("quiet") else ""
    lines = [
        f"# {hazard['title']}",
        "",
        f"`{hazard['code']}` `{hazard['id']}` · {severity(hazard['severity'])}{off} · {bites(hazard)}",
    ]
    for title, body in sections(hazard, (), printed_by(hazard["id"])):
        lines += ["", f"## {title}", "", *_markdown(title, body)]
    return _HEAD.format(place=place) + "\n".join(line.rstrip() for line in lines) + "\n"


def _markdown(title: str, body: list[str]) -> Iterator[str]:
    if title.startswith(gettext("For example")):
        yield from ("```text", *body, "```")
    elif title == gettext("Evidence"):
        for line in body:
            yield f"- <{line}>" if line.startswith("https://") else line
    else:
        yield from body


def _categories() -> dict[str, str]:
    return {
        "precision": gettext("precision"),
        "quantization": gettext("quantization"),
        "optimization": gettext("optimization"),
        "distributed": gettext("distributed"),
        "adapters": gettext("adapters"),
        "trainer": gettext("trainer"),
        "versions": gettext("versions"),
        "objectives": gettext("objectives"),
        "memory": gettext("memory"),
        "kernels": gettext("kernels"),
        "safety": gettext("safety"),
        "file": gettext("file"),
    }


def index(hazards: list[dict[str, Any]]) -> str:
    lines = [
        "<!-- Made by tools/rule_pages.py. -->",
        "# " + gettext("Rules"),
        "",
        gettext("{number} of them. `stablint explain CODE` prints a page; `stablint rules` lists them.").format(
            number=len(hazards)
        ),
    ]
    head = " | ".join((gettext("code"), gettext("rule"), gettext("severity"), gettext("evidence")))
    off = gettext(", off")
    for letter, name in CATEGORIES.items():
        chosen = sorted((one for one in hazards if one["code"][0] == letter), key=lambda one: str(one["code"]))
        lines += ["", f"## {_categories()[name]}", "", f"| {head} |", "|---|---|---|---|"]
        lines += [
            f"| [{one['code']}]({one['code']}.md) | {one['title']} | {severity(one['severity'])}{off if one.get('quiet') else ''}"
            f" | {grade(one['evidence']['grade'])} |"
            for one in chosen
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is out of date")
    check = parser.parse_args().check
    wanted = pages()
    PAGES.mkdir(parents=True, exist_ok=True)
    there = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    stale = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    if check:
        if stale:
            print(
                f"out of date: {', '.join(stale[:10])}{' …' if len(stale) > 10 else ''}; run python tools/rule_pages.py",
                file=sys.stderr,
            )
        return int(bool(stale))
    for name in stale:
        if name in wanted:
            (PAGES / name).write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            (PAGES / name).unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
