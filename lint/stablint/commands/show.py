"""`show`, `explain` and `rules`: the commands that tell what stablint sees and knows."""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from stablint.assemble.asked import Options
from stablint.base import knowledge, language
from stablint.base.language import gettext
from stablint.base.meant import did_you_mean
from stablint.commands.outputs import tell_faults, wants_color, why_none
from stablint.commands.run_summary import in_words
from stablint.config.options import Wrong
from stablint.config.project import Asked, Resolver
from stablint.config.selection import listed
from stablint.config.spec import CLEAN, WRONG
from stablint.engine.diagnostics import reported
from stablint.engine.inspect import effective, inspect
from stablint.files.discover import NoSuchPath
from stablint.log.template import printed_by
from stablint.policy import means, nearest_rules
from stablint.report import explain, rules, show
from stablint.report.plain import plain, to_json
from stablint.report.show import RunShow
from stablint.run.derived.recipe_rates import METHODS, goals, recipes
from stablint.run.derived.registry import RULES
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.releases.fields import field_names
from stablint.run.world import Run
from stablint.secrets import exit

_ENVIRONMENT = "launch.env."


def run_show(given: argparse.Namespace, options: Options) -> int:
    try:
        found = inspect(given.paths, options, known=(), shown=True)
    except NoSuchPath as error:
        raise Wrong(gettext("`{path}` does not exist").format(path=error)) from error
    tell_faults(found)
    for name, why in found.unread:
        exit.tell(f"{plain(name)}: {plain(why)}")
    if not found.runs:
        raise Wrong(gettext("{files}: nothing to show").format(files=why_none(found)))
    runs = [shown(run) for run in found.runs]
    secrets = found.secrets
    exit.learn(secrets)
    if given.output_format == "json":
        exit.hand_over(show.render_json(runs))
    else:
        exit.say(show.render(runs, color=wants_color(given.color), secrets=secrets, whole=given.all))
    return WRONG if found.report.incomplete else CLEAN


def shown(run: Run) -> RunShow:
    world = effective(run)
    stated = [
        name for name in run.explicit if not name.startswith(("keys.", "launch.calls."))
    ]  # of these a finding tells, if there is one
    names = [*stated, *run.supplied, *_defaults(run), *RULES]
    facts = []
    for name in dict.fromkeys(names):
        fact = world.fact(name)
        if fact.value is ABSENT or (is_unknown(fact.value) and name not in run.explicit):
            continue
        facts.append(reported(fact))
    return RunShow(run.files, run.dialects, tuple(facts), in_words(world))


def _defaults(run: Run) -> list[str]:
    """Every field of the run's config classes, and what its framework fills in: what is left out has a value as well."""
    filled = knowledge.load(f"frameworks/{run.framework}") if run.framework else None
    return [
        *(filled or ()),
        *(
            f"{head}.{name}"
            for head, classes in run.classes.items()
            if "." not in head
            for owner in classes
            for name in _fields(run, owner.removeprefix("?"))
            if not name.startswith("_")
        ),
    ]


def _fields(run: Run, owner: str) -> tuple[str, ...]:
    newest = run.releases.newest(owner.partition(".")[0])
    return field_names(owner, newest) if newest is not None else ()


def run_explain(given: argparse.Namespace) -> int:
    texts, examples, sound = _every_text(given)
    told = []
    for word in given.rules:
        found = next((name for name, text in texts.items() if word == name or word.upper() == text["code"]), None)
        if found is None:
            raise Wrong(gettext("no rule is called `{word}`{meant}").format(word=word, meant=_meant(word, texts)))
        hazard = {"id": found, **texts[found], "examples": examples[found]}
        told.append((hazard, _recipes(texts[found]), printed_by(found)))
    if given.output_format == "json":
        exit.hand_over(to_json({"schema_version": 1, "rules": [explain.as_data(*one) for one in told]}))
    else:
        exit.say("\n".join(explain.render(*one, color=wants_color(given.color)) for one in told))
    return CLEAN if sound else WRONG


def _every_text(given: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Texts and examples by id: of stablint's rules, and of those of the house that the settings of the working directory name; and whether all of
    these could be used."""
    resolver = Resolver(Asked(config=given.config, isolated=given.isolated, targets=True), os.getcwd())
    resolver.at(os.path.join(os.getcwd(), ""))
    for line in resolver.broken():
        exit.tell(line)
    house = {name: rows for one in resolver.houses() for name, rows in one.examples.items()}
    return language.every_text(resolver.texts()), {**knowledge.load("examples"), **house}, not resolver.broken()


def _meant(word: str, texts: dict[str, Any]) -> str:
    names = [*texts, *(text["code"] for text in texts.values())]
    said = word if "-" in word else word.upper()
    begun = sorted(name for name in names if name.startswith(said))[:3]
    near = begun or nearest_rules(word, names, 2, 0.5)
    return did_you_mean(near) or gettext("; `stablint rules` lists them")


def _recipes(text: dict[str, Any]) -> list[dict[str, Any]]:
    """For rules about learning rates: recipes of the objectives and methods that the rule is about."""
    if not any("learning_rate" in str(condition) and "derived." in str(condition) for condition in text["when"]):
        return []
    wanted = _named_in("derived.objective", text["when"])
    methods = [method for method in METHODS if method in _named_in("derived.method", text["when"])] or METHODS
    found: dict[str, dict[str, Any]] = {}
    known = goals()
    for goal in dict.fromkeys(known[word] for word in wanted or ("sft",) if word in known):
        for method in methods:
            for size in (7_000_000_000, 70_000_000_000):
                found |= {row.url: row._asdict() for row in recipes(goal, method, size, 6)}
    return list(found.values())


def _named_in(fact: str, conditions: list[Any]) -> list[str]:
    """The words that conditions hold a fact against."""
    words: list[str] = []
    for condition in conditions:
        if isinstance(condition, list) and isinstance(condition[1], list):
            words += _named_in(fact, condition[1])
        elif fact in str(condition):
            words += re.findall(r"[a-z][a-z-]+", str(condition).partition(fact)[2])
    return words


def run_rules(given: argparse.Namespace) -> int:
    texts, _, sound = _every_text(given)
    wanted = listed(given.select)
    for word in wanted:
        if not any(means(word, text["code"], name) for name, text in texts.items()):
            raise Wrong(
                gettext("no rule is called `{word}` or begins so{meant}").format(word=word, meant=_meant(word, texts))
            )
    rows = sorted(
        (
            {"id": name, **text}
            for name, text in texts.items()
            if not wanted or any(means(word, text["code"], name) for word in wanted)
        ),
        key=lambda row: str(row["code"]),
    )
    if given.output_format == "json":
        exit.hand_over(rules.render_json(rows))
    else:
        exit.say(rules.render(rows))
    return CLEAN if sound else WRONG
