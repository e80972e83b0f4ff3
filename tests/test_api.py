"""`stablint.check` and its kin, with objects that have the shape of the libraries' own: no library is needed for these."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace

import pytest

import stablint
from stablint.hardware.gpu import parse_gpu


class Strategy(str, Enum):
    NO, STEPS = "no", "steps"


@dataclass
class TrainingArguments:
    """As much of transformers' class as the tests set."""

    output_dir: str | None = None
    learning_rate: float = 5e-5
    per_device_train_batch_size: int = 8
    fp16: bool = False
    bf16: bool = False
    save_strategy: Strategy = Strategy.STEPS
    eval_strategy: Strategy = Strategy.NO
    load_best_model_at_end: bool = False
    deepspeed: object = None
    hub_token: str | None = None
    max_steps: int = -1
    report_to: list = field(default_factory=list)


@dataclass
class MyArguments(TrainingArguments):
    """A subclass of one's own, with a field that no library knows."""

    curriculum: str = "none"


@dataclass
class LoraConfig:
    r: int = 8
    lora_alpha: int = 8
    target_modules: object = None
    peft_type: str = "LORA"


class Model:
    """A loaded model: its config, its dtype, its size."""

    def __init__(self, kind: str, name: str, attention: str = "sdpa") -> None:
        self.config = SimpleNamespace(
            model_type=kind,
            _name_or_path=name,
            _attn_implementation=attention,
            to_dict=lambda: {"model_type": kind, "_name_or_path": name},
        )
        self.dtype = SimpleNamespace()
        self.num_parameters = lambda: 7_615_616_512


def codes(report: stablint.Report) -> dict[str, str]:
    return {diagnostic.code: diagnostic.severity for diagnostic in report.diagnostics}


QWEN = "Qwen/Qwen2-7B-Instruct"


def test_importing_stablint_imports_no_library():
    program = "import sys, stablint; stablint.check; print(sorted({'torch', 'transformers', 'trl', 'peft', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[]\n"


def test_objects_are_checked_without_a_file():
    report = stablint.check(training_args=TrainingArguments("out", fp16=True, bf16=True), gpu="A100-80GB")
    assert codes(report)["P143"] == "error"
    diagnostic = next(d for d in report.diagnostics if d.code == "P143")
    assert (diagnostic.text, diagnostic.setting) in [(None, "training_args.fp16"), (None, "training_args.bf16")]
    assert {fact.origin["kind"] for fact in diagnostic.facts if fact.name.startswith("training.")} == {"supplied"}
    assert diagnostic.fix is None or not diagnostic.fix.files  # there is no text to write into


def test_only_what_was_chosen_is_stated():
    report = stablint.check(training_args=TrainingArguments("out", load_best_model_at_end=True), gpu="A100-80GB")
    (finding,) = [d for d in report.diagnostics if d.severity == "error"]
    origins = {fact.name: fact.origin["kind"] for fact in finding.facts}
    assert origins["training.load_best_model_at_end"] == "supplied"
    assert origins["training.eval_strategy"] == "default"


def test_defaults_draw_nothing():
    report = stablint.check(
        training_args=TrainingArguments("out", bf16=True, learning_rate=1e-5), model=QWEN, gpu="A100-80GB x8"
    )
    assert not [d for d in report.diagnostics if d.severity != "info"]
    assert len(report.runs) == 1


def test_a_subclass_is_read_as_what_it_extends():
    assert codes(stablint.check(training_args=MyArguments("out", fp16=True, bf16=True, curriculum="hard"))) == {
        "P143": "error"
    }


def test_a_loaded_model_without_an_adapter_has_none():
    args = TrainingArguments("out", fp16=True)
    eager = Model("qwen2", QWEN, "eager")
    assert codes(stablint.check(training_args=args, model=eager, gpu="A100-80GB"))["P101"] == "error"
    assert (
        not {"P101", "P102"}
        & codes(stablint.check(training_args=args, model=Model("qwen2", QWEN), gpu="A100-80GB")).keys()
    )
    assert codes(stablint.check(training_args=args, model=QWEN, gpu="A100-80GB"))["P102"] == "warning"  # any attention
    adapted = stablint.check(
        training_args=args, model=eager, peft_config=LoraConfig(16, 32, {"q_proj"}), gpu="A100-80GB"
    )
    assert "P101" not in codes(adapted)


def test_adapter_settings_are_told_as_the_object_has_them():
    report = stablint.check(peft_config=LoraConfig(8, 16, {"c_attn"}), model=QWEN)
    (finding,) = [d for d in report.diagnostics if d.code == "A101"]
    assert finding.setting == "peft_config.target_modules"


@pytest.mark.parametrize("how", ["argument", "attribute"])
def test_a_deepspeed_dict(how):
    config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}, "communication_data_type": "auto"}
    args = TrainingArguments("out", deepspeed=config if how == "attribute" else None)
    report = stablint.check(training_args=args, deepspeed=config if how == "argument" else None, gpu="A100-80GB x8")
    assert codes(report)["D101"] == codes(report)["P132"] == "error"


def test_objects_join_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}')
    (tmp_path / "run.yaml").write_text(
        f"model_name_or_path: {QWEN}\noutput_dir: out\nlearning_rate: 1.0e-5\nbf16: true\n"
    )
    report = stablint.check("ds.json", training_args=TrainingArguments("out"), gpu="A100-80GB x8")
    (finding,) = [d for d in report.diagnostics if d.code == "D101"]
    assert finding.text is not None and finding.text.name == "ds.json"
    report = stablint.check("run.yaml", peft_config=LoraConfig(8, 16, {"c_attn"}))
    assert [d.setting for d in report.diagnostics if d.code == "A101"] == ["peft_config.target_modules"]
    assert len(report.runs) == 1
    both = stablint.check("run.yaml", training_args=TrainingArguments("out", fp16=True, bf16=True))
    assert len(both.runs) == 2 and codes(both) == {"P143": "error"}


def test_a_token_in_memory_is_no_finding_and_is_never_told():
    token = "hf_" + "abcdefghijklmnop" * 2
    report = stablint.check(training_args=TrainingArguments("out", hub_token=token, fp16=True, bf16=True))
    assert "S101" not in codes(report) and token not in repr(report)


def test_assert_safe_raises_with_everything_in_it():
    with pytest.raises(stablint.UnsafeConfig, match="P143") as caught:
        stablint.assert_safe(
            training_args=TrainingArguments("out", fp16=True, bf16=True, learning_rate=1e-2), model=QWEN
        )
    assert len(caught.value.report.diagnostics) > 1
    first, *lines = str(caught.value).splitlines()
    assert first == f"{len(lines)} error{'s' if len(lines) > 1 else ''}" and "training_args." in lines[0]
    assert stablint.assert_safe(training_args=TrainingArguments("out", bf16=True)).diagnostics == ()


def test_the_report_as_text():
    report = stablint.check(training_args=TrainingArguments("out", fp16=True, bf16=True), gpu="A100-80GB")
    text = stablint.to_text(report)
    assert "training_args." in text and "why:" in text and text.endswith("\n")
    assert stablint.to_text(stablint.check(training_args=TrainingArguments("out", bf16=True))).startswith("No findings")


def test_a_file_beside_live_objects_is_part_of_their_run_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}')
    (tmp_path / "other.yaml").write_text(
        f"model_name_or_path: {QWEN}\noutput_dir: o\nlearning_rate: 1.0e-5\ndeepspeed: ds.json\n"
    )
    report = stablint.check(training_args=TrainingArguments("out", per_device_train_batch_size=4), deepspeed="ds.json")
    assert not [d for d in report.diagnostics if d.code == "D101"] and len(report.runs) == 1


def test_unsloth_in_the_process_is_seen(monkeypatch):
    monkeypatch.setitem(sys.modules, "unsloth", SimpleNamespace())
    args = TrainingArguments("out", fp16=True)
    model = "TinyLlama/TinyLlama-1.1B-Chat-v1.0"
    report = stablint.check(training_args=args, model=model, releases=["unsloth==2024.9"], gpu="T4")
    assert codes(report)["P114"] == "warning"
    assert "P114" not in codes(stablint.check(training_args=args, model=model, releases=["unsloth==2025.1"], gpu="T4"))


def test_the_report_as_a_pydantic_model():
    model = stablint.to_model(stablint.check(training_args=TrainingArguments("out", fp16=True, bf16=True)))
    assert model.summary.errors == 1 and model.diagnostics[0].file is None and model.diagnostics[0].location is None


@pytest.mark.parametrize(
    ("objects", "error"),
    [
        ({"training_args": {"learning_rate": 1}}, TypeError),
        ({"peft_config": 3}, TypeError),
        ({"quantization_config": object()}, TypeError),
        ({"model": 3}, TypeError),
        ({"gpu": "RTX 9999"}, ValueError),
        ({"releases": ["trl"]}, ValueError),
    ],
)
def test_wrong_objects_are_refused(objects, error):
    with pytest.raises(error):
        stablint.check(**objects)


def test_live_objects_are_held_to_this_machine_and_files_are_not(tmp_path, monkeypatch):
    card = ("NVIDIA A100-SXM4-80GB x2", parse_gpu("A100-SXM4-80GB x2"))
    monkeypatch.setattr("stablint.api._of_this_machine", lambda: (card,))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(
        f"model_name_or_path: {QWEN}\noutput_dir: o\nlearning_rate: 1.0e-5\nfp16: true\n"
    )
    args = TrainingArguments("out", fp16=True)
    (found,) = [
        d
        for d in stablint.check(training_args=args, model=Model("qwen2", QWEN, "eager")).diagnostics
        if d.code == "P101"
    ]
    assert found.targets == (card[0],)
    assert {f.origin["option"] for f in found.facts if f.name.startswith("target.")} == {f"{card[0]}, of this machine"}
    other = stablint.check(training_args=args, model=Model("qwen2", QWEN, "eager"), gpu="H100")
    assert {target for d in other.diagnostics for target in d.targets} == {"H100"}
    assert not [d for d in stablint.check("train.yaml").diagnostics if d.targets]
    assert not [
        d for d in stablint.check(training_args=args, model=Model("qwen2", QWEN), gpu=()).diagnostics if d.targets
    ]


# What is handed over, and what is said of it: nothing checked is not safe.
NOTHING = [
    ((), {}, ValueError, "nothing was checked: give files, or objects"),
    ((), {"training_args": None, "model": None}, ValueError, "nothing was checked"),
    (("notes.yaml",), {}, ValueError, "no training configuration in `notes.yaml`"),
    ((None,), {}, TypeError, "a path was expected, and NoneType was given: objects go by name"),
    (({"fp16": True},), {}, TypeError, "a path was expected, and dict was given"),
    ((), {"trainer": 3}, TypeError, "trainer is int, and a trainer has `args` and `model`"),
]


@pytest.mark.parametrize(("paths", "objects", "error", "said"), NOTHING)
def test_nothing_is_not_safe(paths, objects, error, said, tmp_path, monkeypatch):
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=re.escape(said)):
        stablint.assert_safe(*paths, **objects)


def test_a_path_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        stablint.check("no/such/file.yaml")


def test_the_order_of_sets_does_not_matter():
    reports = [
        stablint.check(peft_config=LoraConfig(8, 16, set(order)), model=QWEN)
        for order in (["c_attn", "w1", "w2"], ["w2", "w1", "c_attn"])
    ]
    assert reports[0] == reports[1]


def test_the_guard_stops_on_what_is_logged_where_it_sees_no_step():
    guard = stablint.TrainingGuard(gpu=(), patience=2, on_nan="stop")
    control = SimpleNamespace(should_training_stop=False)
    for loss in (1.0, 0.0, 1.0, 0.0):
        guard.on_log(None, None, control, logs={"loss": loss})
    assert not control.should_training_stop
    with pytest.warns(UserWarning, match="loss"):
        guard.on_log(None, None, control, logs={"loss": 0.0})
    assert control.should_training_stop and "loss 0.0" in guard.stopped
    other, control = stablint.TrainingGuard(gpu=()), SimpleNamespace(should_training_stop=False)
    with pytest.raises(stablint.TrainingStopped, match="gradients is nan") as stopped:
        other.on_log(None, None, control, logs={"grad_norm": float("nan")})
    assert stopped.value.module is None and other.on_save(None, None, control) is None


def test_the_guard_refuses_to_begin():
    with pytest.raises(stablint.UnsafeConfig):
        stablint.TrainingGuard(gpu=()).on_train_begin(TrainingArguments("out", fp16=True, bf16=True), None, None)


@dataclass
class SFTConfig(TrainingArguments):
    gradient_accumulation_steps: int = 1
    gradient_checkpointing: bool = False
    max_length: int = 1024
    optim: str = "adamw_torch"


SFTConfig.__module__ = "trl.trainer.sft_config"
SFT = SFTConfig(
    "out",
    bf16=True,
    per_device_train_batch_size=1,
    gradient_accumulation_steps=8,
    learning_rate=2e-4,
    gradient_checkpointing=True,
)
ADAPTER = LoraConfig(16, 32, ["q_proj", "v_proj"])


def test_fit_takes_live_objects():
    """The same figures as for the file that says the same; a card that is too small is told, and changes are to be made by hand."""
    (large,) = stablint.fit(training_args=SFT, model=QWEN, peft_config=ADAPTER, gpu="A100-80GB")
    (small,) = stablint.fit(training_args=SFT, model=QWEN, peft_config=ADAPTER, gpu="T4")
    assert (large.verdict, small.verdict) == ("fits", "does-not-fit")
    assert large.peak_gib == pytest.approx(sum(large.components.values()), abs=0.05)
    assert all(not remedy.files for remedy in small.remedies)
    (sharded,) = stablint.fit(
        training_args=SFT, model=QWEN, deepspeed={"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}, gpu="H100-80GB x8",
        facts=["launch.processes=8"],
    )  # fmt: skip
    assert sharded.components["weights"] < large.components["weights"] / 6


def test_advise_takes_live_objects_and_files(tmp_path):
    (one,) = stablint.advise(training_args=SFT, model=QWEN, peft_config=ADAPTER, gpu="A100-80GB")
    batch = next(proposal for proposal in one.advice if proposal.id == "larger-micro-batch")
    assert batch.facts["training.per_device_train_batch_size"] == 8 and not batch.files and batch.by_hand
    assert batch.peak is not None and batch.peak[0] < batch.peak[1] < 79
    path = tmp_path / "train.yaml"
    path.write_text(
        "model_name_or_path: Qwen/Qwen2.5-7B\ndataset_name: a/b\nlearning_rate: 1e-5\nattn_implementation: eager\nmax_length: 512\n"
    )
    (file,) = stablint.advise(path)
    assert [proposal.id for proposal in file.advice] == ["eager-attention"] and file.advice[0].files


def test_fit_and_advise_refuse_as_check_does(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="objects go by name"):
        stablint.fit(SFT, gpu="T4")
    with pytest.raises(FileNotFoundError):
        stablint.advise(tmp_path / "none.yaml")
    with pytest.raises(ValueError, match="unknown GPU"):
        stablint.advise(training_args=SFT, gpu="RTX 9999")
    with pytest.raises(ValueError, match=r"^releases: `transformer==5`: .* did you mean `transformers`"):
        stablint.check(training_args=SFT, releases=["transformer==5"])
    with pytest.raises(ValueError, match=r"^facts: `training.fp1=true`: .* did you mean `training.fp16`"):
        stablint.check(training_args=SFT, facts=["training.fp1=true"])
    monkeypatch.setattr(stablint.api, "_of_this_machine", lambda: ())
    with pytest.raises(ValueError, match="name the card"):
        stablint.fit(training_args=SFT, model=QWEN)
