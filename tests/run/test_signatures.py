"""What calls may hand over: Python's own binding is the judge of `misfit`, and the stored tables are whole."""

from __future__ import annotations

import inspect
import itertools
import json
from pathlib import Path

import pytest

from stablint.run.releases.pep440 import release_key
from stablint.run.releases.signatures import Handed, callable_of, misfit, parsed

STORED = Path(__file__).resolve().parents[2] / "knowledge" / "signatures"
TEXTS = ("", "a", "a, b=", "a, /, b", "a, *, b", "a, *, b=, **", "a, *rest, b=", "*rest, **", "a, b=, /, c=, *, d, e=")


def _function(text: str) -> inspect.Signature:
    written = ", ".join(
        "**more" if part == "**" else part.replace("=", "=None")
        for part in (p.strip() for p in text.split(","))
        if part
    )
    names: dict[str, object] = {}
    exec(f"def function({written}): ...", names)  # noqa: S102
    return inspect.signature(names["function"])  # type: ignore[arg-type]


@pytest.mark.parametrize("text", TEXTS)
def test_a_call_fits_where_python_binds_it(text: str) -> None:
    real, read = _function(text), parsed(text)
    for places in range(5):
        for names in itertools.chain.from_iterable(itertools.combinations("abcdz", n) for n in range(4)):
            try:
                real.bind(*[0] * places, **dict.fromkeys(names, 0))
                fits = True
            except TypeError:
                fits = False
            found = misfit(read, Handed(places, names))
            assert (found == ((), (), 0, ())) is fits, (places, names, found)


def test_an_earlier_name_may_stand_for_a_parameter() -> None:
    renamed = parsed("~ model, processing_class")
    assert misfit(renamed, Handed(1, ("tokenizer",))) == ((), (), 0, ())
    assert misfit(renamed, Handed(1, ())).missing == ("processing_class",)


@pytest.mark.parametrize("path", sorted(STORED.glob("*.json")), ids=lambda path: path.stem)
def test_the_spans_of_a_callable_follow_one_another(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    order = document["releases"]
    assert order == sorted(order, key=release_key) and document["calls"]
    for name, spans in document["calls"].items():
        at = [(order.index(s["since"]), order.index(s["last"]) if "last" in s else len(order) - 1) for s in spans]
        assert all(first <= last for first, last in at), name
        assert all(one[1] < two[0] for one, two in itertools.pairwise(at)), name


@pytest.mark.parametrize(
    ("name", "release", "required"),
    [
        ("trl.GRPOTrainer", "1.7.1", ("model", "reward_funcs")),
        ("trl.trainer.grpo_trainer.GRPOTrainer", "1.8.0", ("model",)),
        ("peft.get_peft_model", "0.21.2", ("model", "peft_config")),
        ("peft.PeftModel.from_pretrained", "0.10.0", ("model", "model_id")),
        ("sentence_transformers.losses.MultipleNegativesRankingLoss", "5.1.2", ("model",)),
        ("sentence_transformers.cross_encoder.losses.MultipleNegativesRankingLoss", "5.1.2", ("model",)),
        ("accelerate.Accelerator.clip_grad_norm_", "1.11.0", ("parameters", "max_norm")),
    ],
)
def test_a_name_is_found_by_its_import(name: str, release: str, required: tuple[str, ...]) -> None:
    found = callable_of(name)
    signature = found.at(release_key(release)) if found is not None else None
    assert signature is not None and signature.required == required


@pytest.mark.parametrize("name", ["trl", "numpy.array", "trl.NoSuchTrainer", "peft.LoraConfig"])
def test_what_was_not_read_is_not_known(name: str) -> None:
    assert callable_of(name) is None
