"""The search: method x sharding x precision x batch x checkpointing x loss kernel. What is kept is clean for the linter and fits by the memory model, as
files that were read back; of what is kept the fastest of the best method is taken, and the simpler one of two that are as fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from stablint.base import knowledge
from stablint.base.language import gettext
from stablint.engine.inspect import Inspection, effective
from stablint.fitting.answer import FITS, UNKNOWN, Told, answer, decides
from stablint.fitting.remedies import Move, changed
from stablint.fitting.terms import GIB
from stablint.hardware.gpu import Gpu
from stablint.memory.plan import Plan
from stablint.proposing.asked import METHODS, Choice, Nothing, Request
from stablint.proposing.counted import Recipes
from stablint.proposing.pages import pages
from stablint.proposing.values import asked_for, labelled, reasons_of, values_of
from stablint.run.framework import framework as record_of
from stablint.run.world import World

Look = Callable[
    [Mapping[str, str], Gpu, bool], Inspection
]  # files by name, the card that they are checked for, and whether by the rules

_SIZE = re.compile(r"(?<![\d.])(\d{1,5}(?:\.\d{1,5})?)b(?![a-z0-9])")
_SAME = 0.03  # of speed: what is nearer is no difference that a roofline could tell
_SHORTEST = 512
# Of the card, for vLLM: TRL's default first. It wants its weights in half precision there, the largest forward pass and a cache (vllm v1/worker/utils.py).
_SHARES = (0.3, 0.4, 0.5, 0.6, 0.7)
_BATCHES = (1, 2, 4, 8, 16, 32)


class Tried(NamedTuple):
    """Files of one choice, read back."""

    choice: Choice
    files: dict[str, str]
    world: World
    told: Told
    findings: tuple[str, ...]
    notes: tuple[str, ...]  # findings for information

    @property
    def needed(self) -> float:
        """GiB that the longest rows need; infinite where nothing can be said."""
        return self.told.estimate.needed / GIB if self.told.estimate is not None else float("inf")


class Option(NamedTuple):
    choice: Choice
    needed: float
    speed: float  # tokens a second and card, of no absolute meaning


class Proposal(NamedTuple):
    """`files` by name; `rejected` what was not taken, and why."""

    choice: Choice
    files: dict[str, str]
    told: Told
    rejected: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what `check` says of it all the same, for information


class Search:
    """For one request. `look` checks files as they would be."""

    def __init__(self, request: Request, gpu: Gpu, look: Look) -> None:
        self.known = known = knowledge.load("proposals")
        self.request, self.gpu, self.look = request, gpu, look
        self.record: dict[str, Any] = known["frameworks"][request.framework]
        self.shardings: dict[str, dict[str, Any]] = known["shardings"]
        self.card: dict[str, float] = known["cards"].get(gpu.arch, known["cards"]["other"])
        self.template: str | None = known["templates"].get(request.model.lower())
        self.rejected: list[str] = []
        self._world: World | None = None
        self._notes: dict[str, str] = {}  # reasons that the choice among several gives
        self._recipes: dict[tuple[str, int], Recipes] = {}

    def proposal(self) -> Proposal:
        """Raises Nothing."""
        methods = METHODS if self.request.method == "auto" else (self.request.method,)
        most = self.world.value("model.max_positions")
        if isinstance(most, int) and self.request.length > most:
            why = f"{self.request.model} knows {most} positions, and rows of {self.request.length} tokens have more"
            raise Nothing(why, (), (f"--length {most}",))
        for method in methods:
            found = self._of_method(method)
            if found is not None:
                return found
        raise Nothing(
            gettext("no way was found to train {model} on {card} with {framework} that is safe and fits").format(
                model=self.request.model, card=labelled(self.gpu), framework=self.record["title"]
            ),
            tuple(self.rejected), tuple(self._would_do(methods)),
        )  # fmt: skip

    def _of_method(self, method: str) -> Proposal | None:
        if method not in self.record["methods"]:
            self.rejected.append(
                gettext("{method}: {framework} is not asked for it here").format(
                    method=method, framework=self.record["title"]
                )
            )
            return None
        found: list[tuple[int, Option, Tried, dict[Choice, float]]] = []
        for order, sharding in enumerate(self._shardings(method)):
            if self.shardings[sharding].get("offload") and (found or self.request.method != method):
                continue  # slower than anything that holds its weights on the card, and how much the host has is not known
            least = self._least(method, sharding)
            if least is not None:
                options, needs = self._options(least)
                found += [(order, one, least, needs) for one in options]
        found = [row for row in found if self.shardings[row[1].choice.sharding].get("vllm")] or found
        best = max((one.speed for _, one, _, _ in found), default=0.0)
        near = [row for row in found if row[1].speed >= best * (1 - _SAME)]
        rest = sorted((row for row in found if row not in near), key=lambda row: -row[1].speed)
        near.sort(key=lambda row: (row[0], row[1].choice.fused, row[1].choice.batch, not row[1].choice.checkpointing))
        for _, one, least, needs in [*near, *rest][:6]:
            self._notes = self._about(one, least, found)
            tried = self._tried(one.choice, needs)
            self._notes = {}
            if tried.told.verdict == FITS and not tried.findings:
                return Proposal(one.choice, tried.files, tried.told, tuple(self.rejected), tried.notes)
        return None

    def _about(
        self, one: Option, least: Tried, found: list[tuple[int, Option, Tried, dict[Choice, float]]]
    ) -> dict[str, str]:
        """Why this sharding, and what it takes of the host."""
        says = self.shardings[one.choice.sharding]["says"]
        copied = any(other.choice.sharding == "copies" for _, other, _, _ in found)
        why = "than which a whole copy on each card is slower" if copied else "a whole copy on each card does not fit"
        estimate, reading = least.told.estimate, least.told.reading
        host = (
            estimate.host * reading.plan.sharding.processes / GIB
            if estimate is not None and reading is not None
            else 0.0
        )
        more = f"; {host:,.0f} GiB of the host's memory for all processes" if host else ""
        return {"sharding": f"{says}{', ' if copied else ': '}{why}{more}"}

    def _shardings(self, method: str) -> Iterator[str]:
        """A framework may have its own say on what a sharding is for."""
        own = self.record["shardings"]
        for name, row in self.shardings.items():
            if name in own:
                said = {**row, **(own[name] or {} if isinstance(own, dict) else {})}
                if self.request.objective not in said.get("objectives", (self.request.objective,)):
                    continue
                if said.get("vllm") and self._share() is None:
                    continue
                if method in said["methods"] and said["cards"] <= self.request.cards <= said.get(
                    "most", self.request.cards
                ):
                    yield name

    def _share(self) -> float | None:
        """Of the card for vLLM; None where it has no room for the model's weights."""
        size, room = self.world.value("model.parameters"), self.gpu.most_memory_gib
        if (
            not isinstance(size, int) or not room or not self.gpu.native_bf16
        ):  # what it does on older cards is not known here
            return None
        wanted = (2.2 * size / GIB + 2.0) / room
        return next((share for share in _SHARES if share >= wanted), None)

    def _least(self, method: str, sharding: str) -> Tried | None:
        """What needs the least memory of this method and sharding, in the best precision that is safe; None where that does not do."""
        tried: Tried | None = None
        for precision, weights in self._precisions(method, sharding):
            steps = 8 if self.request.objective == "grpo" else 2  # whole groups of answers
            choice = Choice(method, sharding, precision, weights, 1, steps, True, self._has_kernels())
            tried = self._tried(choice, rules=False)
            if tried.told.verdict == FITS:
                tried = self._tried(choice)
            if not tried.findings and tried.told.verdict == FITS:
                return tried
            self.rejected.append(f"{self._named(choice)}: {self._why_not(tried)}")
            if tried.told.verdict == UNKNOWN:
                raise Nothing(gettext("nothing can be promised: {why}").format(why=tried.told.why))
        return None

    def _named(self, choice: Choice) -> str:
        words = [choice.method, choice.precision]
        if self.request.cards > 1 or choice.sharding != "copies":
            words.append(gettext(self.shardings[choice.sharding]["says"]))
        return ", ".join(words)

    def _why_not(self, tried: Tried) -> str:
        if tried.findings:
            return tried.findings[0]
        room = tried.told.usable
        if not room:
            return tried.told.why
        needed = gettext("{needed} of {room} GiB with rows of {length} tokens one by one").format(
            needed=f"{tried.needed:.1f}", room=f"{room:.1f}", length=self.request.length
        )
        doubt = decides(tried.told) if tried.needed <= room else ""
        return f"{needed}: {doubt}" if doubt else needed

    def _precisions(self, method: str, sharding: str) -> list[tuple[str, str]]:
        """Of the products and of the weights as they are loaded: the best first. DeepSpeed keeps a copy in float32 itself; without it weights that all
        move are float32, or small steps are lost."""
        own = self.record.get("precisions")
        if own is not None:
            rows = [row for row in own[method] if row[0] != "bf16" or self.gpu.native_bf16]
        else:
            whole = method == "full" and not self.shardings[sharding]["deepspeed"]
            rows = [["bf16", "float32" if whole else "bfloat16"]] if self.gpu.native_bf16 else [
                ["fp16", "float32" if whole else "float16"], ["fp32", "float32"],
            ]  # fmt: skip
        return [(precision, weights) for precision, weights in rows]

    def recipes(self, method: str, world: World) -> Recipes | None:
        """None where the model's size is not known."""
        size = world.value("model.parameters")
        if not isinstance(size, int):
            return None
        key = (method, size)
        if key not in self._recipes:
            kind = world.value("model.type")
            self._recipes[key] = Recipes(self.request.objective, method, size, kind if isinstance(kind, str) else None)
        return self._recipes[key]

    def _tried(self, choice: Choice, needs: Mapping[Choice, float] | None = None, *, rules: bool = True) -> Tried:
        """The files of the choice, checked. What does not fit need not be asked for faults: `rules` says whether it is."""
        return self._read(choice, self.recipes(choice.method, self.world), needs or {}, rules)

    @property
    def world(self) -> World:
        """Of a first look, for what is true of the model whatever is chosen."""
        if self._world is None:
            method = self.record["methods"][-1]
            precision, weights = self._precisions(method, "copies")[0]
            self._world = self._read(
                Choice(method, "copies", precision, weights, 1, 1, True, False), None, {}, False
            ).world
        return self._world

    def _has_kernels(self) -> bool:
        return bool(self.record["fused"]) and self.world.value("model.type") in self.known["kernels"]

    def _read(self, choice: Choice, recipes: Recipes | None, needs: Mapping[Choice, float], rules: bool) -> Tried:
        sharding = self.shardings[choice.sharding]
        known = self._world
        plain = known is not None and known.value("model.attention.sdpa") is False
        attention = "eager" if plain else "sdpa"
        values = values_of(self.request, self.record, sharding, choice, recipes, self.template, attention)
        reasons = reasons_of(
            self.request, self.record, self.shardings, choice, recipes, needs, self.gpu, self.template is not None
        )
        if sharding.get("vllm"):
            values["share"] = share = self._share()
            reasons["share"] = f"{share:g} x {self.gpu.most_memory_gib:.1f} GiB for its weights and its cache"
        reasons |= self._notes | ({"attention": "the model has no sdpa path"} if plain else {})
        on = f"{self.request.objective} with {self.record['title']} on {labelled(self.gpu)}"
        head = [f"{self.request.model}, {choice.method}, {on}: written by `stablint new`"]
        head += [reasons["head"]] if "head" in reasons else []
        said = {f"why_{name}": text for name, text in reasons.items()}
        return self._inspected(pages(self.record, {**values, **said}, reasons, head), choice, rules)

    def _inspected(self, files: dict[str, str], choice: Choice, rules: bool) -> Tried:
        found = self.look(files, self.gpu, rules)
        runs = [run for run in found.runs if run.framework]
        run = max(runs or found.runs, key=lambda one: len(one.files))
        world = effective(run)
        said = [one for one in found.report.diagnostics if one.suppressed is None]
        findings = tuple(f"{one.code}: {one.message}" for one in said if one.severity != "info")
        notes = tuple(f"{one.code}: {one.message}" for one in said if one.severity == "info")
        return Tried(choice, files, world, answer(world, run.target), findings, notes)

    def _options(self, least: Tried) -> tuple[list[Option], dict[Choice, float]]:
        """Every choice like this one that fits, and what each needs, those that do not fit too."""
        recipes = self.recipes(least.choice.method, least.world)
        wanted = _examples(recipes)
        found: list[Option] = []
        needs: dict[Choice, float] = {}
        for fused in {False, least.choice.fused}:
            for checkpointing in (True, False):
                for batch in _BATCHES:
                    if batch > wanted:
                        break
                    choice = least.choice._replace(
                        batch=batch, accumulation=max(1, wanted // batch), checkpointing=checkpointing, fused=fused
                    )
                    told = answer(changed(least.world, [Move("", "", self._facts(choice), 0)]), least.told.target)
                    if told.estimate is None or told.reading is None:
                        break
                    needs[choice] = told.estimate.needed / GIB
                    if told.verdict != FITS:
                        break
                    found.append(Option(choice, needs[choice], self._speed(told.reading.plan, choice)))
        if not found and least.told.reading is not None:  # the answers of fewer steps are written at once
            needs[least.choice] = least.needed
            found.append(Option(least.choice, least.needed, self._speed(least.told.reading.plan, least.choice)))
        return found, needs

    def _facts(self, choice: Choice) -> dict[str, Any]:
        switch = {name: value if choice.fused else False for name, value in self.record["fused"].items()}
        return {
            "training.per_device_train_batch_size": choice.batch,
            "training.gradient_accumulation_steps": choice.accumulation,
            "training.gradient_checkpointing": choice.checkpointing,
            **switch,
        }

    def _speed(self, plan: Plan, choice: Choice) -> float:
        """Tokens a second and card: arithmetic, reading the weights, and what goes between the cards, one after the other."""
        card, row, size = self.card, self.shardings[choice.sharding], float(plan.shape.parameters)
        tokens = plan.rows * plan.length.high
        again = 1 if choice.checkpointing else 0
        peak = card["tflops"] * 1e12 * 0.4 / (8 if choice.precision == "fp32" else 1)
        work = (2 + (4 if choice.method == "full" else 2) + 2 * again) * size * tokens / peak
        width = {"full": 2.0, "lora": 2.0, "qlora": 5.0}[
            choice.method
        ]  # quantised weights are written out in half precision and read again
        reading = (2 + again) * width * size / (card["memory"] * 1e9)
        link, trained = card["link"] * 1e9, size if choice.method == "full" else float(plan.trained)
        between = 0.0
        if self.request.cards > 1:
            between = 4.0 * trained / link / choice.accumulation
            if row["shards_weights"]:
                between += (2 + again) * (0.6 if choice.method == "qlora" else 2.0) * size / link
        if row.get("offload"):
            between += (
                2 + again
            ) * 2.0 * size / 12e9 + 28.0 * trained / self.request.cards / 12e9 / choice.accumulation
        at_once = self.request.cards if row.get("split") else 1  # one card computes while the others wait
        return float(tokens / (work + reading + between) / at_once)

    def _would_do(self, tried: tuple[str, ...]) -> Iterator[str]:
        """Other ways to what is wanted: another method, more cards, shorter rows, another framework. Each was tried."""
        method = tried[-1] if tried[-1] in self.record["methods"] else self.record["methods"][-1]
        place, found = METHODS.index(method), None
        for other in (*METHODS[place:], *METHODS[:place][::-1]):  # what needs less comes first
            if other in tried or other not in self.record["methods"]:
                continue
            found = Search(self.request._replace(method=other), self.gpu, self.look)._of_method(other)
            if found is not None:
                yield f"--method {other}: {_need(found.told)}"
                break
        for cards in (2, 4, 8, 16, 32, 64):
            if cards > self.request.cards and (least := self._enough(method, cards, self.request.length)):
                yield f"{asked_for(self.gpu, cards)} --method {method}: {_need(least.told)}"
                break
        length = self.request.length // 2
        while length >= _SHORTEST:
            if least := self._enough(method, self.request.cards, length):
                yield f"--length {length} --method {method}: {_need(least.told)}"
                break
            length //= 2
        yield from self._elsewhere(method, found is not None)
        for model in smaller(self.request.model, self.known["spelled"]):
            if least := self._enough(method, self.request.cards, self.request.length, model=model):
                yield f"--model {model} --method {method}: {_need(least.told)}"
                break

    def _elsewhere(self, method: str, here: bool) -> Iterator[str]:
        """With another framework, which spreads what this one copies; on more cards where `here` nothing does."""
        for framework in (
            name for name in knowledge.load("proposals")["frameworks"] if record_of(name).shards_four_bits
        ):
            for cards in (self.request.cards,) if here else (self.request.cards, 2, 4, 8, 16):
                if framework == self.request.framework or cards < self.request.cards:
                    continue
                if least := self._enough(method, cards, self.request.length, framework):
                    more = f"{asked_for(self.gpu, cards)} " if cards > self.request.cards else ""
                    yield f"--framework {framework} {more}--method {method}: {_need(least.told)}"
                    return

    def _enough(self, method: str, cards: int, length: int, framework: str = "", model: str = "") -> Tried | None:
        request = self.request._replace(
            cards=cards, length=length, framework=framework or self.request.framework, model=model or self.request.model
        )
        record = knowledge.load("proposals")["frameworks"][request.framework]
        if (
            request.data not in record["data"]
            or request.objective not in record["objectives"]
            or not serves(record, request.model)
        ):
            return None
        other = Search(request, self.gpu._replace(count=cards), self.look)
        if request.framework == self.request.framework and not model:
            other._world = self._world
        shardings = [name for name in other._shardings(method) if not self.shardings[name].get("offload")]
        if shardings == ["copies"] and cards > self.request.cards and not framework:
            return None  # each card holds as much as before
        return next((least for name in shardings[-1:] if (least := other._least(method, name)) is not None), None)


def smaller(model: str, spelled: Mapping[str, str]) -> list[str]:
    """Published models of that name but for a smaller size in it, the largest first."""
    own = _SIZE.search(model.lower())
    if own is None:
        return []
    front, back = model.lower()[: own.start()], model.lower()[own.end() :]
    sizes = {}
    for name in spelled:
        if name.startswith(front) and name.endswith(back) and len(name) > len(front) + len(back):
            size = _SIZE.fullmatch(name[len(front) : len(name) - len(back)])
            if size is not None and float(size[1]) < float(own[1]):
                sizes[float(size[1])] = spelled[name]
    return [sizes[size] for size in sorted(sizes, reverse=True)][:5]


def serves(record: Mapping[str, Any], model: str) -> bool:
    """Whether the framework knows the model, where it knows some only."""
    return "models" not in record or model.lower() in record["models"]


def _need(told: Told) -> str:
    assert told.estimate is not None and told.reading is not None
    host = told.estimate.host * told.reading.plan.sharding.processes / GIB
    more = f", and {host:,.0f} GiB of the host's memory" if host else ""
    return f"{told.estimate.needed / GIB:.1f} of {told.usable:.1f} GiB a card{more}"


def _examples(recipes: Recipes | None) -> int:
    """Of one step and card, a power of two: batches of all sizes divide it."""
    counted = recipes.examples().value if recipes is not None else None
    wanted = int(counted or 16)
    return 1 << (wanted.bit_length() - 1)
