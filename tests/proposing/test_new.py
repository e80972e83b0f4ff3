"""`stablint new`: what is written is clean, fits, is what was asked for, and is the same every time; else a clear no."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
import yaml

import stablint
from stablint.cli import main
from stablint.proposing.counted import Recipes
from stablint.proposing.pages import rate, scalar
from tests.pace import cost
from tests.proposing.cases import FRAMEWORKS, MATRIX, Case, asked, holds, written
from tests.sampling import sampled

SAMPLE = MATRIX[:: max(1, len(MATRIX) // 5)]


def either(case: Case, folder: Path, capsys) -> int:
    """Files that hold what is promised; or a no that says why, and nothing written."""
    code = asked(case, folder / "one")
    said = capsys.readouterr().out
    if code == 1:
        assert not (folder / "one").exists()
        assert said.startswith("no: ") and "not taken: " in said
        return code
    assert code == 0, said
    holds(folder / "one", case, capsys)
    return code


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: "-".join(map(str, case)))
def test_a_sample_of_what_may_be_asked(case: Case, tmp_path: Path, capsys) -> None:
    code = either(case, tmp_path, capsys)
    assert asked(case, tmp_path / "two") == code
    if code == 0:
        assert written(tmp_path / "one") == written(tmp_path / "two")


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in MATRIX if case not in SAMPLE], ids=lambda case: "-".join(map(str, case))
)
def test_all_that_may_be_asked(case: Case, tmp_path: Path, capsys) -> None:
    either(case, tmp_path, capsys)


@pytest.mark.parametrize("framework", sampled(FRAMEWORKS, 3))
def test_most_of_what_is_possible_is_found(framework: str, tmp_path: Path, capsys) -> None:
    """A 8B model with an adapter on a card of 80 GB, and one in 4 bits on 24 GB, are everyday runs."""
    for number, (gpu, method) in enumerate((("A100-80GB", "lora"), ("RTX 4090", "qlora"))):
        assert (
            either(Case(framework, "meta-llama/Llama-3.1-8B-Instruct", gpu, method), tmp_path / str(number), capsys)
            == 0
        )


@pytest.mark.parametrize(
    ("framework", "memory", "cards"), [("trl", "20", 1), ("llamafactory", "20 x4", 4), ("ms-swift", "24 x2", 2)]
)
def test_cards_may_have_no_name(framework: str, memory: str, cards: int, tmp_path: Path, capsys) -> None:
    words = [
        "new",
        "--model",
        "Qwen/Qwen2.5-7B-Instruct",
        "--gpu-memory",
        memory,
        "--framework",
        framework,
        "--method",
        "lora",
    ]
    assert main([*words, "--output", str(tmp_path / "out")]) == 0
    assert "no card is named" in capsys.readouterr().out
    files = [str(path) for path in (tmp_path / "out").iterdir()]
    assert main(["fit", *files, "--gpu-memory", memory, "--isolated", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "fits"
    assert main(["check", *files, "--gpu-memory", memory, "--isolated"]) == 0


def test_what_would_do_is_said_as_it_was_asked(tmp_path: Path, capsys) -> None:
    words = [
        "new",
        "--model",
        "meta-llama/Llama-3.1-8B-Instruct",
        "--gpu-memory",
        "6",
        "--framework",
        "llamafactory",
        "--method",
        "lora",
    ]
    assert main([*words, "--output", str(tmp_path / "out")]) == 1
    assert '--gpu-memory "6 x' in capsys.readouterr().out


def test_cards_must_be_said_somehow(capsys) -> None:
    assert main(["new", "--model", "Qwen/Qwen2.5-7B-Instruct", "--framework", "trl"]) == 2
    assert "--gpu-memory" in capsys.readouterr().err


# The request, and facts of the run that it must come to.
FACTS = [
    (Case("trl", "Qwen/Qwen2.5-7B-Instruct", "A100-80GB x8", "full"), {"derived.method": "full", "derived.zero_stage": 2, "derived.compute_dtype": "bfloat16"}),
    (Case("trl", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "lora"), {"derived.method": "lora", "derived.world_size": 4, "derived.objective": "sft"}),
    (Case("trl", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090", "qlora", length=1024), {"derived.method": "qlora", "training.max_length": 1024}),
    (Case("trl", "meta-llama/Llama-3.1-8B-Instruct", "A100-80GB", "lora", "dpo"), {"derived.objective": "dpo", "derived.method": "lora"}),
    (Case("trl", "Qwen/Qwen2-72B-Instruct", "RTX 3090 x7", "qlora"), {"model.device_map": "auto", "derived.method": "qlora"}),
    (Case("axolotl", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "lora"), {"derived.method": "lora", "training.liger_fused_linear_cross_entropy": True}),
    (Case("axolotl", "Qwen/Qwen2.5-7B-Instruct", "A100-80GB x8", "full"), {"derived.method": "full", "derived.zero_stage": 2}),
    (Case("axolotl", "Qwen/Qwen2.5-7B-Instruct", "A100-80GB x2", "qlora", "dpo"), {"derived.method": "qlora", "derived.objective": "dpo"}),
    (Case("ms-swift", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "lora"), {"derived.method": "lora", "derived.world_size": 4}),
    (Case("ms-swift", "Qwen/Qwen2.5-7B-Instruct", "A100-80GB x8", "full"), {"derived.method": "full", "derived.zero_stage": 2}),
    (Case("ms-swift", "Qwen/Qwen2.5-7B-Instruct", "A100-80GB x2", "qlora", "dpo"), {"derived.method": "qlora", "derived.objective": "dpo"}),
    (Case("llamafactory", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "lora"), {"derived.method": "lora", "data.template": "qwen"}),
    (Case("llamafactory", "Qwen/Qwen2.5-7B-Instruct", "A100-80GB x8", "full"), {"derived.method": "full", "derived.deepspeed": True}),
    (Case("llamafactory", "meta-llama/Llama-3.1-8B-Instruct", "A100-80GB", "qlora", "dpo"), {"derived.objective": "dpo", "derived.method": "qlora"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "facts"), FACTS, ids=lambda one: "-".join(map(str, one)) if isinstance(one, Case) else ""
)
def test_show_gives_what_was_asked_for(case: Case, facts: dict[str, object], tmp_path: Path, capsys) -> None:
    folder = tmp_path / "out"
    assert asked(case, folder) == 0
    holds(folder, case, capsys)
    main(["show", str(folder / "launch.sh"), "--gpu", case.gpu, "--isolated", "--output-format", "json"])
    shown = json.loads(capsys.readouterr().out)
    known = {row["name"]: row["value"] for run in shown["runs"] for row in run["facts"]}
    named = "models/Qwen2.5-7B-Instruct" if case.framework == "torchtune" else case.model
    wanted = {**facts, "model.name_or_path": named, "training.max_length": case.length}
    assert {name: known.get(name) for name in wanted} == wanted


# The five founding stories, as somebody would ask them: what is written, or the word of the no.
STORIES = [
    (Case("trl", "Qwen/Qwen2-7B", "V100-32GB x8", "full"), "fp32"),
    (Case("trl", "Qwen/Qwen2-7B", "T4", "full"), "full in fp32, ZeRO-3"),  # with 142 GiB of the host's memory
    (Case("trl", "Qwen/Qwen2-7B", "T4", "auto"), "qlora in fp32"),
    (Case("trl", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "T4", "lora"), "lora in fp16"),
    (Case("trl", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "T4", "lora", length=8192), "knows 2048 positions"),
    (Case("trl", "google/gemma-2-9b-it", "A100-80GB", "lora"), "lora in bf16"),  # it has no sdpa path
    (Case("llamafactory", "Qwen/Qwen-7B", "A100-80GB x4", "full"), "loads code of its own repository"),
    (Case("trl", "Qwen/Qwen2-7B-Instruct", "A100-80GB x8", "full"), "full in bf16, ZeRO-2"),
    (Case("trl", "Qwen/Qwen2-72B-Instruct", "RTX 3090 x7", "qlora"), "layers over 7 cards"),
    (Case("llamafactory", "Qwen/Qwen2-72B-Instruct", "RTX 3090 x7", "qlora"), "--framework trl --method qlora"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "word"), STORIES, ids=lambda one: "-".join(map(str, one)) if isinstance(one, Case) else ""
)
def test_founding_stories(case: Case, word: str, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "out"
    code = asked(case, folder)
    assert word in capsys.readouterr().out
    if code == 0:
        holds(folder, case, capsys)
        text = (folder / f"{case.objective}.yaml").read_text(encoding="utf-8")
        found = next(value for key, value in yaml.safe_load(text).items() if key == "learning_rate")
        method = "qlora" if "qlora" in word else case.method
        band = Recipes("sft", method, 7_600_000_000 if "72B" not in case.model else 72_700_000_000, None).band
        assert "TinyLlama" in case.model or (band is not None and band.typical_low <= found <= band.typical_high)


# Words that are refused, and what the refusal says.
WRONG = [
    (["--model", "Qwen/Qwen2.5-7B-Instuct"], "did you mean `Qwen/Qwen2.5-7B-Instruct`"),
    (["--model", "nobody/knows-this"], "unknown model `nobody/knows-this`"),
    (["--gpu", "RTX 4900"], "unknown GPU `RTX 4900`: did you mean"),
    (["--data", "parquet"], "--data parquet: TRL is given one of"),
    (["--framework", "axolotl", "--objective", "grpo"], "--objective grpo"),
    (["--length", "0"], "--length 0"),
    (["--framework", "unheard-of"], "invalid choice"),
    (["--framework", "torchtune", "--model", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"], "torchtune has no builder for"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda one: one[-1] if isinstance(one, list) else "")
def test_wrong_words_are_refused_with_what_was_meant(words: list[str], said: str, tmp_path: Path, capsys) -> None:
    whole = {
        "--model": "Qwen/Qwen2.5-7B-Instruct",
        "--gpu": "RTX 4090",
        "--framework": "trl",
        "--output": str(tmp_path / "out"),
    }
    whole |= dict(zip(words[::2], words[1::2], strict=True))
    try:
        code = main(["new", *(word for pair in whole.items() for word in pair)])
    except SystemExit as end:
        code = end.code
    assert code == 2 and said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over_unasked(tmp_path: Path, capsys) -> None:
    case = Case("trl", "Qwen/Qwen2.5-0.5B-Instruct", "RTX 4090", "lora")
    (tmp_path / "sft.yaml").write_text("mine: true\n", encoding="utf-8")
    assert asked(case, tmp_path) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert (
        list(written(tmp_path)) == ["sft.yaml"]
        and (tmp_path / "sft.yaml").read_text(encoding="utf-8") == "mine: true\n"
    )
    assert main([*case.words(tmp_path), "--force"]) == 0
    assert "mine" not in (tmp_path / "sft.yaml").read_text(encoding="utf-8")


def test_a_link_is_not_followed_out(tmp_path: Path, capsys) -> None:
    """--force takes the link away, and leaves alone what it leads to."""
    other = tmp_path / "precious.yaml"
    other.write_text("mine: true\n", encoding="utf-8")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "sft.yaml").symlink_to(other)
    assert main([*Case("trl", "Qwen/Qwen2.5-0.5B-Instruct", "RTX 4090", "lora").words(folder), "--force"]) == 0
    assert other.read_text(encoding="utf-8") == "mine: true\n" and not (folder / "sft.yaml").is_symlink()


LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
    "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}  # fmt: skip


def test_a_folder_is_a_model_too(tmp_path: Path, capsys) -> None:
    """Its dimensions come from its config.json, and its name in the files is where it lies."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    case = Case("trl", str(model), "RTX 4090", "lora")
    assert asked(case, tmp_path / "out") == 0
    assert yaml.safe_load((tmp_path / "out" / "sft.yaml").read_text(encoding="utf-8"))["model_name_or_path"] == str(
        model
    )


# Keys whose reasons hold these words.
REASONS = {
    "per_device_train_batch_size": "of 23.7 GiB", "learning_rate": "8 projects", "lr_scheduler_type": "projects", "gradient_accumulation_steps": "x 4 cards",
    "dataset_name": "nothing starts before you name one", "max_length": "tokens", "dtype": "half precision", "bf16": "bfloat16", "lora_r": "projects",
    "lora_alpha": "x rank", "warmup_steps": "share of the steps", "num_train_epochs": "not counted", "optim": "AdamW",
}  # fmt: skip


def test_every_line_of_weight_has_its_reason(tmp_path: Path, capsys) -> None:
    asked(Case("trl", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "lora"), tmp_path / "out")
    lines = (tmp_path / "out" / "sft.yaml").read_text(encoding="utf-8").splitlines()
    why = {line.partition(":")[0]: line.partition("  # ")[2] for line in lines}
    assert [key for key, words in REASONS.items() if words not in why.get(key, "")] == []


def test_what_check_notes_all_the_same_is_said(tmp_path: Path, capsys) -> None:
    """fp16 is all that this card has, and there are mixed reports of it with this model."""
    words = ["new", "--model", "Qwen/Qwen2.5-0.5B-Instruct", "--framework", "trl", "--method", "lora"]
    assert main([*words, "--gpu", "T4", "--output", str(tmp_path / "n")]) == 0
    said = capsys.readouterr().out
    assert "`check` finds nothing but notes" in said and "\nnote: P115: " in said and "T117" not in said
    assert main([*words, "--gpu", "A100-80GB", "--output", str(tmp_path / "m")]) == 0
    said = capsys.readouterr().out
    assert "`check` finds nothing, `fit` says it fits" in said and "note:" not in said


def test_it_takes_less_than_two_seconds(tmp_path: Path, capsys) -> None:
    folders = count()
    case = Case("llamafactory", "Qwen/Qwen2-72B-Instruct", "RTX 3090 x7", "auto")
    assert cost(lambda: asked(case, tmp_path / f"out{next(folders)}"), 2) <= 2


def test_what_seems_to_fit_and_is_not_taken_says_why() -> None:
    found = stablint.new("Qwen/Qwen2-7B", gpu="V100-32GB x8", framework="trl", method="full")
    (why,) = [one for one in found.rejected if one.startswith("full, fp32, ZeRO-3:")]
    assert "27.1 of 31.8 GiB" in why
    assert why.endswith("may not be given back in time")


def test_the_library_call(tmp_path: Path) -> None:
    made = stablint.new("Qwen/Qwen2.5-7B-Instruct", gpu="RTX 4090 x4", framework="trl", method="lora")
    assert made.verdict == "fits" and "sft.yaml" in made.files and made.needed_gib < made.usable_gib
    assert not (tmp_path / "sft.yaml").exists()
    refused = stablint.new("Qwen/Qwen2-72B-Instruct", gpu="RTX 3090 x7", framework="llamafactory", method="qlora")
    assert refused.verdict == "does-not-fit" and not refused.files and any("trl" in one for one in refused.would_do)
    with pytest.raises(ValueError, match="did you mean"):
        stablint.new("Qwen/Qwen2.5-7B-Instuct", gpu="RTX 4090", framework="trl")


def test_torchtune_takes_what_it_trains_to_the_host_where_the_cards_are_too_small(tmp_path: Path, capsys) -> None:
    """Weights, gradients and two states in bf16, 8 bytes a parameter (torchtune 0.6.1 recipes/full_finetune_distributed.py, fsdp_cpu_offload)."""
    case = Case("torchtune", "meta-llama/Llama-3.1-8B-Instruct", "RTX 3090 x4", "full")
    assert main([*case.words(tmp_path / "out"), "--output-format", "json"]) == 0
    yes = json.loads(capsys.readouterr().out)
    text = (tmp_path / "out" / "sft.yaml").read_text(encoding="utf-8")
    assert yes["choice"]["sharding"] == "fsdp-offload" and "fsdp_cpu_offload: true" in text
    assert "60 GiB of the host's memory for all processes" in text  # 8.03 billion parameters x 8 bytes


def test_programs_get_the_same_answer(tmp_path: Path, capsys) -> None:
    case = Case("trl", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "full")
    assert main([*case.words(tmp_path / "out"), "--output-format", "json"]) == 0
    yes = json.loads(capsys.readouterr().out)
    assert (
        yes["verdict"] == "fits"
        and yes["choice"]["sharding"] == "zero3-offload"
        and yes["files"] == sorted(written(tmp_path / "out"))
    )
    assert "GiB of the host's memory for all processes" in (tmp_path / "out" / "sft.yaml").read_text(encoding="utf-8")
    assert (
        main([*Case("llamafactory", "Qwen/Qwen2-72B", "T4", "qlora").words(tmp_path / "no"), "--output-format", "json"])
        == 1
    )
    no = json.loads(capsys.readouterr().out)
    assert no["verdict"] == "does-not-fit" and not no["files"] and no["rejected"] and no["would_do"]


@pytest.mark.parametrize(("value", "text"), [(2e-5, "2.0e-5"), (1.5e-6, "1.5e-6"), (3e-4, "3.0e-4")])
def test_rates_are_numbers_in_every_yaml(value: float, text: str) -> None:
    assert rate(value) == text and yaml.safe_load(text) == value


@pytest.mark.parametrize(
    "value",
    ["no", "on", "1e-4", "a: b", "12", "", "- x", "null", "~", "x # y", 0.1, 1, True, None, [1, "no"], {"a": [1]}],
)
def test_scalars_come_back_as_they_were(value: object) -> None:
    assert yaml.safe_load(f"key: {scalar(value)}") == {"key": value}


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    case, folder = Case("trl", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "lora"), tmp_path / "out"
    asked(case, folder)
    (folder / "sft.yaml").write_text("mine: 1\n", encoding="utf-8")
    before = written(folder)

    def full(path: str, *_: object) -> None:
        if str(folder) in path:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("stablint.commands.new.os.chmod", full)
    words = ["new", "--model", case.model, "--gpu", case.gpu, "--framework", "trl", "--output", str(folder), "--force"]
    assert main(words) == 2
    assert "No space left on device: nothing was written" in capsys.readouterr().err
    assert written(folder) == before


@pytest.mark.parametrize("force", [True, False])
def test_what_is_typed_meanwhile_stays(force: bool, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from stablint.commands import new

    case, folder = Case("llamafactory", "Qwen/Qwen2.5-7B-Instruct", "RTX 4090 x4", "lora"), tmp_path / "out"
    found = new.proposed(*new.requested(case.model, case.gpu, "llamafactory", "lora", "sft", 2048, None))
    path = folder / "data" / "dataset_info.json"
    if force:
        path.parent.mkdir(parents=True)
        path.write_text("{}")

    def typed(*_: object) -> object:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"mine": 1}')
        return found

    monkeypatch.setattr(new, "proposed", typed)
    words = ["new", "--model", case.model, "--gpu", case.gpu, "--framework", "llamafactory", "--output", str(folder)]
    assert main([*words, *["--force"] * force]) == 2
    assert ("changed while stablint worked" if force else "exists: nothing was written") in capsys.readouterr().err
    assert [one.read_text() for one in folder.rglob("*") if one.is_file()] == ['{"mine": 1}']


def test_what_a_killed_one_left_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stablint.base.whole import machine

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "time being"))
    left = tmp_path / "time being" / f"stablint-new-{ended.pid}-{machine()}-abc"
    lives = tmp_path / "time being" / f"stablint-new-{os.getppid()}-{machine()}-abc"
    other = tmp_path / "time being" / f"stablint-new-{ended.pid}-{machine()}-abd"
    for one in (left, lives):
        one.mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("mine")
    other.symlink_to(tmp_path / "mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sft.yaml").write_text("mine: 1\n")
    (tmp_path / "out" / f"sft.yaml.{ended.pid}-{machine()}.new").write_text("half")
    words = ["new", "--model", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "RTX 4090 x4", "--framework", "trl"]
    assert main([*words, "--output", str(tmp_path / "out")]) == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["sft.yaml"]
    assert (
        sorted((tmp_path / "time being").iterdir()) == sorted([lives, other]) and (tmp_path / "mine" / "a.txt").exists()
    )
