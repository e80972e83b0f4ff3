"""What MkDocs does beyond docs/ when it builds the site (a hook of mkdocs.yml): the reference from the knowledge, what users see on each
rule's page, and pages that stand outside docs/.

Nothing of it is written into the checkout: a page of the reference is as true as the code that the site is built from.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from mkdocs.exceptions import ConfigurationError
from mkdocs.structure.files import File

from stablint.base import knowledge, language
from stablint.base.language import gettext
from stablint.cli import main
from stablint.config.options import options
from stablint.config.spec import COMMANDS, FORMATS
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import inspect
from stablint.engine.repair import repair
from stablint.fix.patch import patch
from stablint.hazard.model import Hazard, load
from stablint.report import full
from stablint.report.model import Report
from stablint.report.words import grade as grade_in_words
from stablint.report.words import message
from stablint.report.words import severity as severity_in_words
from stablint.run.forms import forms

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import rule_pages  # noqa: E402 (MkDocs does not import its hooks from a package)

OUTSIDE = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "benchmarks.md": "benchmarks/README.md",
    "releasing.md": "RELEASING.md",
    "zh/index.md": "README.zh.md",
}
_ZH = "zh/"  # the folder of the pages in Chinese
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def on_files(files: Any, config: Any) -> Any:
    made = {**reference(), **{name: (ROOT / source).read_text(encoding="utf-8") for name, source in OUTSIDE.items()}}
    with spoken("zh"):
        made |= {f"{_ZH}rules/{name}": text for name, text in rule_pages.pages().items()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    name = page.file.src_uri
    markdown = _LINK.sub(lambda link: _of_the_site(link, name), markdown)
    folder, among, rule = name.rpartition("rules/")
    if not among or folder not in ("", _ZH):
        return markdown
    with spoken("zh" if folder else language.ENGLISH):
        if rule == "README.md":
            return with_filter(markdown)
        other = f"[English](../../rules/{rule})" if folder else f"[中文](../zh/rules/{rule})"
        title, _, rest = with_what_is_seen(markdown, rule[: -len(".md")], "../" * (1 + bool(folder))).partition("\n\n")
        return f"{title}\n\n{other}\n\n{rest}"


def on_post_page(output: str, page: Any, config: Any) -> str:
    return output.replace('<html lang="en"', '<html lang="zh"', 1) if page.file.src_uri.startswith(_ZH) else output


@contextlib.contextmanager
def spoken(name: str) -> Iterator[None]:
    """What is told meanwhile is told in this language."""
    before = language.spoken()
    language.speak(name)
    try:
        yield
    finally:
        language.speak(before)


def _of_the_site(link: re.Match[str], page: str) -> str:
    """A link to a file of the repository becomes one to its page; one to what has none becomes its name. A pattern that only looks like a
    link (`^[fb](sdp)`) is text."""
    if page.removeprefix(_ZH).startswith("rules/") and not link[1].partition("#")[0].endswith(".md"):
        return "]\\" + link[0][1:]
    source = OUTSIDE.get(page)
    folder = (ROOT / source).parent if source else (ROOT / "docs" / page).parent
    target, _, anchor = link[1].partition("#")
    path = (folder / target).resolve()
    back = "../" * page.count("/")
    for name, other in OUTSIDE.items():
        if path == ROOT / other:
            return f"]({back}{name}{'#' + anchor if anchor else ''})"
    if source and path.is_relative_to(ROOT / "docs"):
        return f"]({path.relative_to(ROOT / 'docs').as_posix()}{'#' + anchor if anchor else ''})"
    if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "docs"):
        return f'](index.md "{path.relative_to(ROOT).as_posix()} of the repository")'
    return link[0]


def on_post_build(config: Any) -> None:
    """
    Two places of the search mended, in the worker that the theme brings.

    Lunr names a node of it by its letters and the numbers of the nodes behind them in a row, so that two nodes with digits among their letters can
    have one name (`1` before node 23, `12` … before node 3); then they are taken for one, and a search for what words begin with ends in an error and
    shows nothing. With a sign behind each number no two names are alike.
    And to Lunr a word behind a dash is one that must not be there; here it is an option, and whoever pastes `--report_to` wants to read of it.
    """
    (worker,) = Path(config["site_dir"]).glob("assets/javascripts/workers/search.*.min.js")
    text = worker.read_text(encoding="utf-8")
    for what, place, instead in (
        ("names a node", _NODE_NAME, r'\1=\1+\2+\3.id+";"'),
        ("reads signs", _SIGNS, r"\1|(?<=^|\\s)-+/g"),
    ):
        text, count = place.subn(instead, text)
        if count != 1:
            raise ConfigurationError(f"{worker.name}: the place where Lunr {what} is found {count} times, not once")
    worker.write_text(text, encoding="utf-8")


_NODE_NAME = re.compile(r"\b(\w+)=\1\+(\w+)\+(\w+)\.id\b")
_SIGNS = re.compile(r"(\[\*\+\\-:\^~\]\+\(\?=\\s\+\|\$\))/g")


# A rule's page.


@cache
def rules() -> dict[str, Hazard]:
    return {hazard.code: hazard for hazard in load()}


def with_what_is_seen(markdown: str, code: str, back: str) -> str:
    """The page with its message and its repair as the command line shows them, and how to silence it, in front of its why."""
    hazard = rules()[code]
    blocks = [silenced(hazard, back)]
    examples = knowledge.load("examples").get(hazard.id, [])
    setting = ""
    if examples and (shown := seen(hazard, examples[0])) is not None:
        words, report, diff, setting = shown
        # The message stands in a heading: the search weighs headings, and it is what somebody pastes into it.
        told = [
            "## " + gettext("As you see it"),
            "",
            f"### {hazard.code} {hazard.id}: {words}",
            "",
            "```text",
            report,
            "```",
            "",
        ]
        blocks = [
            "\n".join(
                [*told, *(("## " + gettext("Before and after"), "", "```diff", diff, "```", "") if diff else ())]
            ),
            *blocks,
        ]
    head, mark, rest = markdown.partition("\n## " + gettext("Why") + "\n")
    return "\n\n".join((head, *blocks)) + mark + _with_headings(rest, printed().get(hazard.id, []), setting)


_MOST = 6  # messages of one rule
_LENGTH = 240  # characters of one
_GAP = re.compile(r"\{[^{}]*\}")
_MARKS = re.compile(r"([\\*_{}\[\]<>#|!~&])")


class Printed(NamedTuple):
    text: str
    about: str  # the gap of the text in which the setting's name stands


def _with_headings(markdown: str, messages: list[Printed], setting: str) -> str:
    """
    What the run prints as headings as well: somebody searches for the last line of a traceback.

    Of what a run fills in, the `setting` that the example is about is told; where a run says something else, there is an ellipsis.
    """
    if not messages:
        return markdown
    title = f"## {gettext('What is printed')}\n"
    before, mark, after = markdown.partition(title)
    _, following, rest = after.partition("\n## ") if mark else ("", "", "")
    words = (" ".join(_filled(one, setting).split())[:_LENGTH] for one in messages[:_MOST])
    written = title + "".join(f"\n### {_heading(one)}\n" for one in words)
    # The page of a rule that only what fills a message tells from others has no such section of its own.
    return before + written + following + rest if mark else f"{before}\n\n{written}"


def _filled(message: Printed, setting: str) -> str:
    return _GAP.sub(lambda gap: setting if setting and gap[0] == f"{{{message.about}}}" else "…", message.text)


@cache
def printed() -> dict[str, list[Printed]]:
    """By rule, the libraries' messages that tell of it, from knowledge/messages."""
    folder = ROOT / "knowledge" / "messages"
    rows = [
        *yaml.safe_load((folder / "printed.yaml").read_text(encoding="utf-8")),
        *json.loads((folder / "raised.json").read_text(encoding="utf-8"))["messages"],
    ]
    found: dict[str, list[Printed]] = {}
    for row in rows:
        decided = row.get("decides", {}).get("values", {}).values()
        for name in dict.fromkeys([*row.get("hazards", ()), *(one for several in decided for one in several)]):
            one = Printed(row["text"], row.get("about", ""))
            if one not in found.setdefault(name, []):
                found[name].append(one)
    return found


def seen(hazard: Hazard, example: dict[str, Any]) -> tuple[str, str, str, str] | None:
    """
    Of the rule's first example: the message, all that `check` says, the repair as a patch, and the name of the setting.

    None where the rule speaks of live objects alone.
    """
    with tempfile.TemporaryDirectory(prefix="stablint-site-") as scratch:
        folder = str(Path(scratch).resolve())
        write(example["files"], folder)
        asked = example_options(example.get("options"))
        every = (
            one
            for known in ((hazard,), None)  # what is wrong with suppressions shows among all rules only
            for one in inspect([folder], asked, base=folder, known=known).report.diagnostics
            if one.code == hazard.code
        )
        told = next(every, None)
        if told is None:
            return None
        report = Report((), (), (told,), ())
        text = full.render(report, language.texts(), tail="none").strip()
        done = repair([folder], asked, unsafe=True, base=folder, known=(hazard,), named=frozenset({hazard.code}))
        return (
            _heading(message(told)),
            text,
            patch(done.texts, done.before, lambda _: False).data.decode("utf-8", "replace").strip(),
            told.setting.rpartition(".")[2],
        )


def _heading(words: str) -> str:
    """A message as the text of a heading: one line, and nothing of it means anything to Markdown."""
    return _MARKS.sub(r"\\\1", " ".join(words.replace("`", "").split()))


def silenced(hazard: Hazard, back: str) -> str:
    reason = gettext("why it is fine here")
    beside = gettext(
        "Where it is fine, say so with your reason. In YAML, Python and shell beside the line, or alone on the line above it:"
    )
    settings = gettext("In `stablint.toml`, for JSON or for several files:")
    off = gettext(
        "`{off}` there turns it off, `{quieter}` makes it quieter, and a baseline accepts what is there today ([settings]({page}))."
    ).format(
        off=f'ignore = ["{hazard.code}"]',
        quieter=f'severity = {{ {hazard.code} = "info" }}',
        page=f"{back}settings.md",
    )
    title = gettext("Silence it")
    return f"""## {title}

{beside}

```yaml
# stablint: ignore[{hazard.code}] -- {reason}
```

{settings}

```toml
[[accept]]
file = "configs/*.json"
rules = ["{hazard.code}"]
reason = "{reason}"
```

{off}
"""


def with_filter(markdown: str) -> str:
    """The list of rules with a filter, and each rule's name, which the search finds as well."""
    grades = sorted({str(hazard.evidence["grade"]) for hazard in rules().values()})
    choices = "".join(f"<option>{grade_in_words(grade)}</option>" for grade in grades)
    labels = {"Severity": gettext("Severity"), "Evidence": gettext("Evidence")}
    hint, every = gettext("Filter: words, codes"), gettext("Filter the rules")
    severity, evidence = gettext("any severity"), gettext("any evidence")
    levels = "".join(f"<option>{severity_in_words(level)}</option>" for level in ("error", "warning", "info"))
    bar = (
        f'<div class="rule-filter"><input type="search" placeholder="{hint}" aria-label="{every}">'
        f'<select aria-label="{labels["Severity"]}"><option value="">{severity}</option>{levels}</select>'
        f'<select aria-label="{labels["Evidence"]}"><option value="">{evidence}</option>{choices}</select><span id="rule-count"></span></div>\n'
    )
    head, mark, rest = markdown.partition("\n## ")
    return f"{head}\n{bar}\n{mark.lstrip(chr(10))}{rest}"


# The reference.


def reference() -> dict[str, str]:
    made = {
        "commands": commands(), "settings": settings(), "formats": formats(), "dialects": dialects(), "gpus": gpus(), "models": models(),
        "learning-rates": learning_rates(),
    }  # fmt: skip
    return {f"reference/{name}.md": text for name, text in made.items()}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join(
            "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in lines
        )
        + "\n"
    )


def commands() -> str:
    parts = ["# Commands\n\nAs `stablint COMMAND --help` prints them.\n"]
    for command in COMMANDS:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            main([command, "--help"])
        parts.append(f"## {command}\n\n```text\n{out.getvalue().strip()}\n```\n")
    return "\n".join(parts)


def settings() -> str:
    schema = json.loads((ROOT / "schemas" / "settings.schema.json").read_text(encoding="utf-8"))
    parts = [
        "# Settings\n\nWhat `stablint.toml`, or `[tool.stablint]` of a `pyproject.toml`, may say; [the guide](../settings.md) shows each in use. "
        "`stablint config FILE` tells which hold for a file and which line says so.\n",
        table(("setting", "kind", "default", "what"), _settings(schema, schema["$defs"])),
    ]
    for name, definition in schema["$defs"].items():
        if "properties" in definition:
            rows = _settings(definition, schema["$defs"])
            parts += [
                f"## {name}\n\n{definition.get('description', '')}\n",
                table(("key", "kind", "default", "what"), rows),
            ]
    return "\n".join(parts)


def _settings(schema: dict[str, Any], parts: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, one in schema["properties"].items():
        default = (
            json.dumps(one["default"])
            if "default" in one
            else "*required*"
            if name in schema.get("required", ())
            else ""
        )
        yield (
            f"`{name}`",
            _kind(one, parts),
            f"`{default}`" if default and default[0] != "*" else default,
            one.get("description", ""),
        )


def _kind(one: dict[str, Any], parts: dict[str, Any]) -> str:
    if "anyOf" in one:
        return " or ".join(kind for kind in (_kind(other, parts) for other in one["anyOf"]) if kind != "null")
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        return (
            f"[{name}](#{name.lower()})" if "properties" in parts.get(name, {}) else _kind(parts.get(name, {}), parts)
        )
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    if one.get("type") == "array":
        return f"list of {_kind(one.get('items', {}), parts)}"
    return str(one.get("type", "any"))


def formats() -> str:
    rows = []
    for name in FORMATS:
        if name in ("full", "concise"):
            rows.append((f"`{name}`", "people", "a block a finding" if name == "full" else "a line a finding"))
            continue
        module = __import__(f"stablint.report.{name}", fromlist=[name])
        rows.append((f"`{name}`", "programs", " ".join((module.__doc__ or "").split("\n\n")[0].split())))
    return (
        "# Output formats\n\n`--output-format NAMES` and `--output-file FILE` pair in order: [in CI](../ci.md). The JSON report is described by "
        "`schemas/report.schema.json`; its `schema_version` changes where a reader of it would notice.\n\n"
        + table(("format", "for", "what"), rows)
    )


def dialects() -> str:
    parts = [
        "# Frameworks\n\nWhat each framework's configuration is read with, and the releases whose keys are known. "
        "`stablint schema NAME --with LIBRARY==RELEASE` prints the JSON Schema for an editor.\n"
    ]
    rows = [
        (f"`{name}`", form.title, ", ".join(f"`{one}`" for one in (*form.readers, *form.classes)))
        for name, form in forms().items()
    ]
    parts.append(table(("schema", "of", "read by"), rows))
    parts.append("## Releases whose keys are known\n")
    known = []
    for path in sorted((ROOT / "knowledge" / "keys").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        keys = {key for one in data["classes"].values() for key in one.get("fields", {})}
        known.append(
            (data["library"], len(data["releases"]), f"{data['releases'][0]} to {data['releases'][-1]}", len(keys))
        )
    parts.append(table(("library", "releases", "from, to", "keys"), known))
    return "\n".join(parts)


def gpus() -> str:
    rows = []
    for card in knowledge.load("gpus")["cards"]:
        facts = options([card[0]]).gpus[0][1].facts()
        memory = facts.get("target.gpu.memory_gib")
        rows.append((
            card[0], facts.get("target.gpu.vendor"), facts.get("target.gpu.arch"), facts.get("target.gpu.compute_capability") or "",
            memory if isinstance(memory, int | float) else "shared", _mark(facts.get("target.gpu.native_bf16")), _mark(facts.get("target.gpu.fp8")),
            _mark(facts.get("target.gpu.flash_attention_2")),
        ))  # fmt: skip
    return (
        "# GPUs\n\nNames that `--gpu` takes; `x8` behind one is how many. Instance types of clouds (`p4d.24xlarge`) work as well.\n\n"
        + table(
            ("GPU", "maker", "generation", "compute capability", "GiB", "bf16 in hardware", "fp8", "FlashAttention 2"),
            rows,
        )
    )


def _mark(value: object) -> str:
    return "yes" if value is True else "no" if value is False else "?"


def models() -> str:
    parts = [
        "# Models\n\nProduct lines whose sizes are known; another model's own `config.json` is read where it lies at hand (`--model FOLDER`).\n"
    ]
    for path in sorted((ROOT / "knowledge" / "models").glob("*.yaml")):
        data = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        rows = [
            (
                line["name"],
                f"`{line.get('type', '')}`",
                line.get("dtype", ""),
                ", ".join(map(str, line.get("sizes", {}))),
            )
            for line in (data.get("lines", ()) if isinstance(data, dict) else ())
        ]
        if rows:
            parts += [f"## {path.stem}\n", table(("line", "type", "published in", "sizes"), rows)]
    return "\n".join(parts)


# Learning rates.

_WIDTH, _LEFT, _ROW, _LOWEST, _HIGHEST = 720, 190, 26, -8.5, -1.5


def learning_rates() -> str:
    parts = [
        "# Learning rates\n\nCounted from published recipes ([how](../how-we-know.md)). The thick bar is the middle half of the recipes, the stroke "
        "their median; a rate in the shaded ends draws a finding, which is a warning at most.\n"
    ]
    groups: dict[str, list[dict[str, Any]]] = {}
    for band in yaml.load((ROOT / "knowledge" / "lr_bands.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)[
        "bands"
    ]:
        groups.setdefault(band["objective"], []).append(band)
    for objective, bands in groups.items():
        parts += [f"## {objective}\n", plot(objective, bands), ""]
        rows = [
            (
                _cell(band),
                f"{band['typical_low']:g} to {band['typical_high']:g}",
                f"{band['median']:g}",
                band["recipes"],
                band["projects"],
            )
            for band in bands
        ]
        parts.append(table(("method and size", "middle half", "median", "recipes", "projects"), rows))
    return "\n".join(parts)


def _cell(band: dict[str, Any]) -> str:
    size = ""
    if band.get("below"):
        size = f", {band.get('from', 0)} to {band['below']}B"
    elif band.get("from"):
        size = f", from {band['from']}B"
    return f"{band['method']}{size}"


def _x(rate: float) -> float:
    return _LEFT + (math.log10(rate) - _LOWEST) / (_HIGHEST - _LOWEST) * (_WIDTH - _LEFT - 10)


def plot(title: str, bands: list[dict[str, Any]]) -> str:
    """One row a band on a logarithmic scale, as SVG."""
    height = _ROW * len(bands) + 30
    out = [
        f'<div class="plot"><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Learning rates of {escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg" font-size="12" fill="currentColor">'
    ]
    for power in range(-8, -1):
        x = _x(10.0**power)
        out.append(f'<line x1="{x:.1f}" y1="4" x2="{x:.1f}" y2="{height - 24}" stroke="currentColor" opacity=".2"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">1e{power}</text>')
    for number, band in enumerate(bands):
        y = 8 + number * _ROW
        out.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(_cell(band))}</text>')
        for start, end in ((10.0**_LOWEST, band.get("alarm_below")), (band.get("alarm_above"), 10.0**_HIGHEST)):
            if start and end:
                out.append(
                    f'<rect x="{_x(start):.1f}" y="{y}" width="{_x(end) - _x(start):.1f}" height="18" fill="#e53935" opacity=".18"/>'
                )
        low, high = _x(band["typical_low"]), _x(band["typical_high"])
        out.append(f'<rect x="{low - 1:.1f}" y="{y + 4}" width="{high - low + 2:.1f}" height="10" fill="#3f51b5"/>')
        out.append(
            f'<line x1="{_x(band["median"]):.1f}" y1="{y}" x2="{_x(band["median"]):.1f}" y2="{y + 18}" stroke="#ff9800" stroke-width="3"/>'
        )
    return "\n".join(out) + "\n</svg></div>"
