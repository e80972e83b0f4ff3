"""sentence-transformers: what its trainers, its `fit` and its models say of a run; a model that only measures trains nothing."""

from __future__ import annotations

import pytest

from stablint.run.fact import ABSENT, is_unknown
from tests.runs import inspected, rules, runs, world

TRAINER = """from datasets import load_dataset
from sentence_transformers import {kind}, {kind}Trainer, {kind}TrainingArguments
from sentence_transformers.losses import CoSENTLoss
model = {kind}("a/b")
args = {kind}TrainingArguments(output_dir="o", num_train_epochs=2, per_device_train_batch_size=32, learning_rate=2e-5, warmup_ratio=0.1,
    bf16=True, batch_sampler="no_duplicates", prompts={{"query": "q: "}}, eval_strategy="{strategy}")
trainer = {kind}Trainer(model=model, args=args, train_dataset=load_dataset("x")["train"], loss=CoSENTLoss(model){more})
trainer.train()
"""
KINDS = {"SentenceTransformer": "embeddings", "SparseEncoder": "embeddings", "CrossEncoder": "reranking"}


@pytest.mark.parametrize("kind", KINDS)
def test_its_trainer_is_transformers_with_another_objective(tmp_path, kind):
    run = world(tmp_path, {"train.py": TRAINER.format(kind=kind, strategy="no", more="")})
    assert run.value("derived.objective") == KINDS[kind]
    assert run.value("derived.trainer") == f"sentence_transformers.{kind}Trainer"
    assert run.fact("derived.hf_trainer").value is True and run.fact("derived.hf_trainer").presumed
    names = ("num_train_epochs", "per_device_train_batch_size", "learning_rate", "warmup_ratio", "bf16", "weight_decay")
    assert [run.value(f"training.{name}") for name in names] == [2, 32, 2e-5, 0.1, True, 0.0]
    assert run.value("model.name_or_path") == "a/b"
    assert run.value("training.batch_sampler") is ABSENT  # a field of its own class, which is not known


@pytest.mark.parametrize(("more", "told"), [("", True), (", evaluator=measure", False), (", eval_dataset=rows", False)])
def test_an_evaluator_stands_for_rows_to_evaluate_on(tmp_path, more, told):
    source = TRAINER.format(kind="SentenceTransformer", strategy="steps", more=more)
    found = inspected(tmp_path, {"train.py": source})
    assert ("evaluation-without-data" in rules(found)) is told
    assert not rules(found, "error")


FIT = """from torch.utils.data import DataLoader
from sentence_transformers import SentenceTransformer, losses
model = SentenceTransformer("a/b")
loader = DataLoader(rows, shuffle=True, batch_size={batch})
{more}model.fit(train_objectives=[(loader, losses.CosineSimilarityLoss(model))], epochs=3, warmup_steps={warmup}, optimizer_params={{"lr": 3e-5}},
    scheduler="{scheduler}")
"""
# What `fit` is given: the batch, the steps of warm-up, the schedule; and what the run has ("?": not known).
FITS = [
    (("8", "100", "constantlr"), (8, 100, "constant")),
    (("8", "0", "WarmupCosine"), (8, 0, "cosine")),
    (("size()", "len(rows) // 5", "warmuplinear"), ("?", "?", "linear")),
]


@pytest.mark.parametrize(("given", "known"), FITS)
def test_fit_says_what_it_does(tmp_path, given, known):
    batch, warmup, scheduler = given
    run = world(tmp_path, {"train.py": FIT.format(batch=batch, warmup=warmup, scheduler=scheduler, more="")})
    assert run.value("derived.trainer") == "sentence-transformers"
    assert (run.value("derived.objective"), run.value("derived.method")) == ("embeddings", "full")
    assert run.fact("derived.method").presumed
    assert (run.value("training.learning_rate"), run.value("training.num_train_epochs")) == (3e-5, 3)
    names = ("per_device_train_batch_size", "warmup_steps", "lr_scheduler_type")
    values = [run.value(f"training.{name}") for name in names]
    assert tuple("?" if is_unknown(value) else value for value in values) == known


def test_several_trainings_of_one_file_say_only_what_they_share(tmp_path):
    more = "model.fit(train_objectives=[(loader, loss)], epochs=1, warmup_steps=7, optimizer_params={'lr': 3e-5})\n"
    run = world(tmp_path, {"train.py": FIT.format(batch=8, warmup=7, scheduler="warmuplinear", more=more)})
    assert is_unknown(run.value("training.num_train_epochs"))
    assert (run.value("training.learning_rate"), run.value("training.warmup_steps")) == (3e-5, 7)


MEASURES = """from sentence_transformers import SentenceTransformer
scorer = SentenceTransformer("all-MiniLM-L6-v2")
print(scorer.encode(["a"]))
"""
SFT = """from trl import SFTConfig, SFTTrainer
SFTTrainer(model="Qwen/Qwen2.5-7B", args=SFTConfig("o"), train_dataset=rows).train()
"""


def test_a_model_that_only_measures_makes_no_run_and_is_not_the_one_that_is_trained(tmp_path):
    assert runs(tmp_path, {"search.py": MEASURES}) == ()
    run = world(tmp_path, {"train.py": MEASURES + SFT})
    assert run.value("model.name_or_path") == "Qwen/Qwen2.5-7B" and run.value("derived.objective") == "sft"
