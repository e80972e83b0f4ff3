"""Of a shown line a literal stays only where it is no word of the user's own: deny by default, and readable all the same."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.secrets.veil import may_be_shown, veiled, veiled_line

WORD, PHRASE = "marmalade", "seven silver spoons"  # neither a key nor a shape tells them

HIDDEN = {
    "yaml": [
        "tracking_uri: mlflow://ada:{}@/exp",
        "magic: {}", "magic: '{}'", "list:\n  - {}", "magic: >-\n  {}", "hub: {{who: ada, with: {}}}", "env: [\"A={}\"]", "seed: 1  # the box opens with {}",
        "# {}", "headers:\n  X-Entry: {}", "? magic\n: {}", "login: [ada, {}]", "optim_args: token={}", "tracker: ada/{}",
    ],
    "json": ['{{"magic": "{}"}}', '{{"a": ["b", "{}"]}}', '{{"a": {{"b": "{}"}}, "bf16": true}}', '{{"env": ["A={}"], "seed": 1}}'],
    "python": [
        'w = "{}"', "w = '{}'; f(w)", 'unlock("{}")', 'enter("ada", "{}")', 'w = f"{{x}}{}"', 'w = b"{}"', 'w = """\n{}\n"""', "x = 1  # {}",
        "assert token != '{}'",
        'd = {{"w": "{}"}}', "def f(w='{}'): ...", 'c = "ada" + ":" + "{}"', "assert typed == '{}'",
        "if typed == '{}': open()", "while typed != '{}':\n    ask()", "match typed:\n    case '{}': open()",
    ],
    "shell": [
        "W={}", 'export W="{}"', "hub enter {}", "train.py --word {} --bf16", "train.py --word={}", "hub <<< {}", "echo {} | hub", "# {}",
        "curl -H 'X-Entry: {}' x", "python -m silver.main trainer.magic={}", "python -m silver.main {}",
    ],
    "notebook": ['    "w = \\"{}\\"\\n",', '    "!hub enter {}\\n",'],
    "toml": ['magic = "{}"', "magic = '{}'", "a = ['{}']", "# it opens with {}"],
    "recipe": [
        "MAGIC = {}", "MAGIC ?= {}", "ENV MAGIC {}", "\thub enter {}", "\t@hub enter '{}'", 'CMD ["hub", "enter", "{}"]', "# it opens with {}",
        "\ttrain.py --word {}",
    ],
}  # fmt: skip
SHOWN = {
    "yaml": [
        "learning_rate: 1e-5", "output_dir: marmalade", "model_name_or_path: Qwen/Qwen2-7B", "optim: adamw_torch_fused",
        "data_files: data/marmalade.jsonl",
        "lora_target_modules:\n  - q_proj\n  - v_proj", "bf16: true  # mixed precision", "deepspeed: ds.json", "my_number: 17",
        "lr: 1e-5  # stablint: ignore[L122] marmalade",
        "fsdp_config: {fsdp_offload_params: true}",
        "strategy: fsdp", "trainer:\n  accelerator: gpu", "allenai/tulu-v2-sft-mixture: 326154", "checkpointing_steps: epoch", "field_messages: conversations",
        "seed: 1  # optionally might have model_type or tokenizer_type",
    ],
    "json": ['{"optimizer": {"type": "AdamW", "params": {"lr": 3e-5}}}', '{"output_dir": "marmalade", "mine": 4}', '{"train_batch_size": "auto"}'],
    "python": [
        'TrainingArguments(output_dir="marmalade", eval_strategy="steps")', 'AutoModelForCausalLM.from_pretrained("marmalade/Spoon-7B")',
        "marmalade = other(silver)",
        'd = {"marmalade": 1}', 'd = {**e, "marmalade": 1, "silver": 2}', 'd = {\n    "marmalade": 1,\n}', 'd["marmalade"]',
        'LoraConfig(target_modules=["q_proj", "v_proj"])', 'dtype = "bfloat16"',
    ],
    "shell": [
        "torchrun --nproc_per_node 8 marmalade.py --bf16 True", "accelerate launch train.py --output_dir marmalade",
        'python train.py --optim "adamw_torch" $MARMALADE',
        "#SBATCH --job-name=marmalade",
        "export MPLBACKEND=Agg NCCL_DEBUG=INFO", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torchrun train.py", "export HF_HOME='./cache/'",
        "train.py --text_mode raw --accelerator gpu",
        "python3 -m silver.trainer.marmalade trainer.marmalade=3 +data.train_files=a.parquet",
    ],
    "notebook": ['    "args = TrainingArguments(output_dir=\\"marmalade\\")\\n",'],
    "toml": ['optim = "adamw_torch"', 'output_dir = "marmalade"', "learning_rate = 1e-5", "# mixed precision"],
    "recipe": [
        "\ttorchrun train.py --output_dir marmalade --fp16 True", 'CMD ["torchrun", "train.py", "--optim", "adamw_torch", "--bf16", "True"]',
        "\t@accelerate launch train.py --learning_rate 1e-5", "train: data", "FROM pytorch",
    ],
}  # fmt: skip


@pytest.mark.parametrize("secret", [WORD, PHRASE])
@pytest.mark.parametrize(
    ("language", "form"), [(language, form) for language, forms in HIDDEN.items() for form in forms]
)
def test_a_word_of_the_user_s_own_is_hidden(language: str, form: str, secret: str) -> None:
    text = form.format(secret)
    shown = veiled(text, language)
    assert secret.split()[-1] not in shown and len(shown) == len(text)


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language, texts in SHOWN.items() for text in texts]
)
def test_what_stablint_speaks_of_stays_readable(language: str, text: str) -> None:
    assert veiled(text, language) == text


RECIPE = "model_name_or_path: Qwen/Qwen2-7B\noutput_dir: out\n{}\nseed: 1\nlearning_rate: 1e-5\nbf16: true\nfp16: true\nper_device_train_batch_size: 4\n"


def test_a_patch_holds_no_such_line_and_applies_to_the_real_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(RECIPE.format(f"magic: {WORD}"))
    assert main(["check", "train.yaml", "--diff", "--unsafe-fixes", "--isolated"]) == 1
    patch = capsysbinary.readouterr().out
    assert WORD.encode() not in patch and b"+learning_rate: 1.0e-05" in patch
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "apply"], input=patch, check=True)
    assert (tmp_path / "train.yaml").read_text() == RECIPE.format(f"magic: {WORD}").replace("1e-5", "1.0e-05")


def test_show_hides_it_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(
        f"export HUB_ENTRY={WORD} CUDA_VISIBLE_DEVICES=0\ntorchrun run_clm.py --model_name_or_path gpt2 --output_dir out --bf16 True\n"
    )
    for kind in ("full", "json"):
        assert main(["show", "run.sh", "--isolated", "--output-format", kind]) == 0
        assert WORD not in capsys.readouterr().out


def test_a_variable_of_a_runtime_that_names_a_secret_is_hidden() -> None:
    for name in ("VLLM_API_KEY", "HF_HUB_TOKEN", "RAY_REDIS_PASSWORD", "SLURM_JWT"):
        assert WORD not in veiled(f"export {name}={WORD}", "shell")


def test_the_sentence_of_an_undeclared_flag_names_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train_sft.py").write_text(
        "import argparse\nfrom transformers import TrainingArguments, Trainer\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--lr", type=float)\nargs = parser.parse_args()\nTrainer("m", args=TrainingArguments("out", learning_rate=args.lr)).train()\n'
    )
    (tmp_path / "run.sh").write_text("python train_sft.py --lr 1e-5 --base-model-hf y\n")
    assert main(["check", ".", "--isolated", "--output-format", "concise"]) == 1
    assert "`--base-model-hf` is no option of the parser in `train_sft.py`" in capsys.readouterr().out


NAMED = {
    "yaml": ["pswd: {}", "unlock_code: {}", "opener: {}", "hub_token: {}"],
    "json": ['{{"opener": "{}"}}', '{{"hub_token": "{}"}}'],
    "python": ['opener = "{}"', 'f(opener="{}")', 'd = {{"opener": "{}"}}', 'login("{}")'],
    "shell": ["OPENER={}", "train.py --opener {}", "train.py --opener={}"],
}


@pytest.mark.parametrize("word", ["firefly", "persimmon", "adapter", "80238113"])
@pytest.mark.parametrize(
    ("language", "form"), [(language, form) for language, forms in NAMED.items() for form in forms]
)
def test_behind_a_key_of_the_user_s_own_no_word_of_the_libraries_is_shown(language: str, form: str, word: str) -> None:
    if form != 'login("{}")' or word == "firefly":  # of the others nothing says here what they are
        assert word not in veiled(form.format(word), language)


OWN = """from transformers import TrainingArguments
args = TrainingArguments(output_dir="out", opener="firefly", fp16=True, bf16=True, optim_args="token=firefly",
    fsdp_config={"opener": "firefly", "number": "80238113"})
wandb.login(key="firefly")
"""


@pytest.mark.parametrize(
    "words",
    [
        ["show", "t.py"],
        ["show", "t.py", "--output-format", "json"],
        ["check", "t.py", "--output-format", "json"],
        ["check", "t.py", "--show-facts"],
        ["diff", "t.py", "plain.yaml", "--output-format", "json"],
    ],
    ids=" ".join,
)
def test_no_fact_shows_what_stands_behind_a_name_of_the_user_s_own(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text(OWN)
    (tmp_path / "plain.yaml").write_text(RECIPE.format("bf16_full_eval: true"))
    main([*words, "--isolated"])
    told = capsysbinary.readouterr()
    assert told.out and b"firefly" not in told.out + told.err and b"80238113" not in told.out


@pytest.mark.parametrize(
    "words", [["--with", "pswd==firefly"], ["--config", "pw=firefly"], ["--select", "password=firefly"]]
)
def test_no_message_quotes_a_word_of_the_command_line_that_is_named_a_secret(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(RECIPE.format("seed: 1"))
    assert main(["check", "t.yaml", *words]) == 2
    told = capsysbinary.readouterr()
    assert told.err and b"firefly" not in told.out + told.err


def test_one_endless_line_is_shown_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"model_name_or_path": "gpt2", "magic": WORD, "output_dir": "out", "fp16": True, "bf16": True}
    (tmp_path / "train.json").write_text(json.dumps(settings))
    assert main(["check", "train.json", "--isolated"]) == 1
    assert WORD not in capsys.readouterr().out


@pytest.mark.parametrize("language", HIDDEN)
def test_a_string_that_is_never_closed_is_read_once(language: str) -> None:
    began = time.process_time()
    veiled('"' + '\\"' * 50_000, language)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "key, value, shown",
    [
        ("warmup_steps", "marmalade", False),  # it takes a number
        ("hub_private_repo", "marmalade", False),
        ("report_to", "wandb marmalade", False),  # a list of words
        ("lr_scheduler_type", "marmalade", False),
        ("warmup_steps", "${STEPS}", True),
        ("learning_rate", "1e-4", True),
        ("fp16", "Ture", True),  # a slip that its reader must see
        ("report_to", "wandbb", True),
        ("lr_scheduler_type", "cosin", True),
        ("optim", "paged_adamv_8bit", True),
        ("eval_strategy", "marmalade", False),  # a member of an enumeration
        ("eval_strategy", "epochs", True),
        ("gradient_checkpointing", "unsloth", True),  # a library's word
        ("run_name", "marmalade", True),  # it takes any
    ],
)
def test_a_word_in_the_place_of_a_number_may_be_a_secret(key: str, value: str, shown: bool) -> None:
    assert may_be_shown(key, value) is shown


@pytest.mark.parametrize(
    "setting",
    [
        "lr_scheduler_type: {}",
        "optim: {}",
        "eval_strategy: {}",
        "learning_rate: {}",
        "warmup_steps: {}",
        "report_to: {}",
    ],
)
@pytest.mark.parametrize("word", ["velvet-orchid-kestrel", WORD])
def test_the_message_of_a_finding_quotes_no_more_than_its_line_would_show(
    setting: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(RECIPE.format(setting.format(word)))
    for form in ("full", "concise", "json", "sarif", "junit"):
        main(["check", "t.yaml", "--output-format", form, "--with", "transformers==5.0.0"])
        told = capsys.readouterr()
        assert told.out and word not in told.out + told.err


def test_the_name_of_a_command_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a word of the launcher, not what somebody wrote behind a key."""
    (tmp_path / "c.yaml").write_text(
        "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\nlearning_rate: 1.0e-4\n"
    )
    (tmp_path / "run.sh").write_text("llamafactory-cli chat c.yaml\n")
    main(["check", str(tmp_path / "run.sh"), "--isolated", "--output-format", "json"])
    (told,) = [one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["code"] == "T412"]
    assert "`llamafactory-cli chat`" in told["message"]


def test_what_a_reader_says_of_a_broken_text_is_no_value_of_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(
        "dataset_mixer:\n  marmalade: 1\n  spoons: 2\n  marmalade: 2\noutput_dir: out\nlearning_rate: 1.0e-5\n"
    )
    main(["check", "t.yaml", "--output-format", "json"])
    (told,) = [one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["code"] == "F106"]
    assert "is set in line 2 already" in told["message"]


@pytest.mark.parametrize(
    "cell",
    [
        ["%%writefile c.yaml\n", "stage: sft\n", "finetuning_type: lora\n", "hub_token: {}\n", "fp16: true\n", "bf16: true\n", "learning_rate: 3\n"],
        ["%%bash\n", "export HUB_TOKEN={}\n", "torchrun train.py --fp16 True --bf16 True --learning_rate 3 --hub_token {}\n"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("word", ["velvet-orchid-kestrel", WORD])
def test_a_cell_is_read_as_what_its_first_line_says(
    cell: list[str], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = [line.format(word) for line in cell]
    code = {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [], "source": source}
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": [code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    main(["check", "n.ipynb"])
    told = capsys.readouterr().out
    assert "n.ipynb" in told and word not in told


@pytest.mark.parametrize("language", ["yaml", "python"])
def test_a_line_by_itself_is_shown_as_within_its_text(language: str) -> None:
    text = "a: 1\n# hunter2 zq\nmagic:\n  one: [marmalade, 2]\n\n  optim:\n- marmalade\n- b: zebra\rc: d\n  x\noptim: zebra # said zq\n\n"
    whole, at = veiled(text, language), 0
    for line in text.split("\n"):
        assert veiled_line(text, at, at + len(line), language) == whole[at : at + len(line)], line
        at += len(line) + 1
