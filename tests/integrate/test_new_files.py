"""What `stablint new` writes, given to the real parsers of its frameworks, and one real training with it: a Llama of two layers, three steps, on CPU.

Each is skipped where its framework is not installed.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
import yaml

os.environ.update(
    HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", WANDB_DISABLED="true", TOKENIZERS_PARALLELISM="false", DS_ACCELERATOR="cpu",
    DISABLE_VERSION_CHECK="1", AXOLOTL_DO_NOT_TRACK="1",
)  # fmt: skip
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from stablint.cli import main  # noqa: E402

QWEN = "Qwen/Qwen2.5-7B-Instruct"
SMALL = "TinyLlama/TinyLlama-1.1B-Chat-v1.0"
# What is asked for: model, cards, method, objective. The last six are the founding stories (knowledge/SEEDCHECK), as somebody would ask them.
ASKED = [
    (QWEN, "RTX 4090 x4", "lora", "sft"),
    (QWEN, "RTX 4090", "qlora", "sft"),
    (QWEN, "A100-80GB x8", "full", "sft"),
    (QWEN, "T4", "qlora", "sft"),
    (QWEN, "A100-80GB x2", "lora", "dpo"),
    (QWEN, "A100-80GB", "lora", "grpo"),
    (QWEN, "A100-80GB x8", "full", "grpo"),
    ("Qwen/Qwen2.5-1.5B-Instruct", "RTX 4090 x4", "qlora", "grpo"),
    ("Qwen/Qwen2-7B", "V100-32GB x8", "full", "sft"),
    ("Qwen/Qwen2-7B", "T4", "auto", "sft"),
    (SMALL, "T4", "lora", "sft"),
    ("google/gemma-2-9b-it", "A100-80GB", "lora", "sft"),
    ("Qwen/Qwen2-7B-Instruct", "A100-80GB x8", "full", "sft"),
    ("Qwen/Qwen2-72B-Instruct", "RTX 3090 x7", "qlora", "sft"),
]


pytestmark = pytest.mark.usefixtures("a_card_with_bf16")


def made(folder: Path, framework: str, gpu: str, method: str, objective: str, model: str = QWEN) -> Path:
    words = [
        "--model",
        model,
        "--gpu",
        gpu,
        "--method",
        method,
        "--objective",
        objective,
        "--framework",
        framework,
        "--output",
        str(folder),
    ]
    if main(["new", *words]) != 0:
        pytest.skip("a no, which says what would do (tests/proposing)")
    return folder / f"{objective}.yaml"


def agree(said: dict[str, object], *holders: object, names: tuple[str, ...]) -> None:
    """What the file says is what the parser has made of it."""
    found = {name: next(getattr(one, name) for one in holders if hasattr(one, name)) for name in names}
    assert found == {name: value for name, value in said.items() if name in names}


def parsed(file: Path, monkeypatch):
    """As `trl sft --config FILE` reads it; an argument that it does not know is an error."""
    scripts = pytest.importorskip(f"trl.scripts.{file.stem}")
    monkeypatch.chdir(file.parent)
    return scripts.make_parser().parse_args_and_config(["--config", file.name], fail_with_unknown_args=True)


@pytest.mark.parametrize(("model", "gpu", "method", "objective"), ASKED)
def test_trl_takes_it(model: str, gpu: str, method: str, objective: str, tmp_path: Path, monkeypatch) -> None:
    if (gpu, method) == ("A100-80GB x8", "full"):
        pytest.importorskip("deepspeed")
        monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    file = made(tmp_path / "out", "trl", gpu, method, objective, model)
    _, training, loaded, *_ = parsed(file, monkeypatch)
    said = yaml.safe_load(file.read_text(encoding="utf-8"))
    for key, value in said.items():
        holder = training if hasattr(training, key) else loaded
        found = getattr(holder, key, value)
        if isinstance(value, (int, float, bool)) and not isinstance(found, str):
            assert found == value, key


def test_deepspeed_takes_its_file(tmp_path: Path) -> None:
    """`auto` is filled by the Trainer; the rest is checked by DeepSpeed's own configuration class."""
    config = pytest.importorskip("deepspeed.runtime.config")
    for number, gpu in enumerate(("A100-80GB x8", "RTX 4090 x4")):  # ZeRO-2, and ZeRO-3 with the host's memory
        file = made(tmp_path / str(number), "trl", gpu, "full", "sft").with_name("ds.json")
        said = json.loads(file.read_text(encoding="utf-8"))
        zero = {key: value for key, value in said["zero_optimization"].items() if value != "auto"}
        found = config.DeepSpeedConfig({"train_batch_size": 8, "bf16": {"enabled": True}, "zero_optimization": zero})
        assert found.zero_config.stage == said["zero_optimization"]["stage"]


@pytest.mark.parametrize(("model", "gpu", "method", "objective"), ASKED)
def test_llamafactory_takes_it(model: str, gpu: str, method: str, objective: str, tmp_path: Path, monkeypatch) -> None:
    parser = pytest.importorskip("llamafactory.hparams.parser")
    file = made(tmp_path / "out", "llamafactory", gpu, method, objective, model)
    monkeypatch.chdir(file.parent)
    mode = transformers.training_args.ParallelMode.DISTRIBUTED  # as torchrun makes it
    monkeypatch.setattr(transformers.TrainingArguments, "parallel_mode", mode)
    monkeypatch.setattr(parser, "_check_extra_dependencies", lambda *arguments: None)
    said = yaml.safe_load(file.read_text(encoding="utf-8"))
    loaded, data, training, tuning, _ = parser.get_train_args(dict(said))
    agree(
        said, training, data, tuning, names=("learning_rate", "cutoff_len", "finetuning_type", "optim", "warmup_ratio")
    )
    assert (loaded.quantization_bit == 4) is (said.get("quantization_bit") == 4)


@pytest.mark.parametrize(("model", "gpu", "method", "objective"), ASKED)
def test_axolotl_takes_it(model: str, gpu: str, method: str, objective: str, tmp_path: Path, monkeypatch) -> None:
    config = pytest.importorskip("axolotl.utils.config")
    from axolotl.utils.dict import DictDefault

    file = made(tmp_path / "out", "axolotl", gpu, method, objective, model)
    monkeypatch.chdir(file.parent)
    said = DictDefault(yaml.safe_load(file.read_text(encoding="utf-8")))
    config.prepare_plugins(said)
    machine = {"bf16": gpu != "T4", "n_gpu": 8, "compute_capability": "sm_80", "fp8": False, "tf32": True, "n_node": 1}
    found = config.validate_config(said, capabilities=machine, env_capabilities={"torch_version": "2.11.0"})
    assert found.learning_rate == said.learning_rate and found.adapter == said.adapter


@pytest.mark.parametrize(("model", "gpu", "method", "objective"), ASKED)
def test_ms_swift_takes_it(model: str, gpu: str, method: str, objective: str, tmp_path: Path, monkeypatch) -> None:
    command = pytest.importorskip("swift.cli.main")
    from swift import arguments
    from swift.utils.utils import _patch_get_type_hints

    file = made(tmp_path / "out", "ms-swift", gpu, method, objective, model)
    words = [str(file)]
    command.parse_yaml_args(words)  # from 4.1.0 on
    kind = arguments.RLHFArguments if objective == "dpo" else arguments.SftArguments
    monkeypatch.setattr(kind, "__post_init__", lambda self: None)  # it would load the model
    with _patch_get_type_hints():
        found, rest = transformers.HfArgumentParser([kind]).parse_args_into_dataclasses(
            words, return_remaining_strings=True
        )
    said = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert rest == []
    agree(said, found, names=("learning_rate", "max_length", "tuner_type", "gradient_checkpointing", "bf16"))


@pytest.mark.parametrize(("model", "gpu", "method", "objective"), [row for row in ASKED if row[1] != "T4"])
def test_accelerate_takes_its_file(
    model: str, gpu: str, method: str, objective: str, tmp_path: Path, monkeypatch
) -> None:
    """And TRL's parser what stands beside it."""
    config = pytest.importorskip("accelerate.commands.config.config_args")
    file = made(tmp_path / "out", "accelerate+deepspeed", gpu, method, objective, model)
    found = config.load_config_from_file(str(file.with_name("accelerate.yaml")))
    assert found.num_processes == (int(gpu.rpartition("x")[2]) if " x" in gpu else 1)
    assert str(getattr(found.distributed_type, "value", found.distributed_type)) in ("DEEPSPEED", "MULTI_GPU", "NO")
    launch = pytest.importorskip("accelerate.commands.launch")
    with monkeypatch.context() as patched:
        patched.setattr(launch, "is_bf16_available", lambda *arguments: True)
        patched.setattr(torch.cuda, "is_available", lambda: True)
        patched.setattr(torch.cuda, "device_count", lambda: 8)
        patched.chdir(file.parent)
        command = file.with_name("launch.sh").read_text(encoding="utf-8").splitlines()[-1].split()
        started, _, _ = launch._validate_launch_command(launch.launch_command_parser().parse_args(command[2:]))
        assert (
            started.num_processes == found.num_processes
            and started.use_deepspeed is file.with_name("ds.json").is_file()
        )
    assert (file.with_name("ds.json").is_file()) is bool(found.deepspeed_config)
    _, training, *_ = parsed(file, monkeypatch)
    assert training.deepspeed is None


# Families, each with builders of its own.
TUNED = [
    (QWEN, "RTX 4090 x4", "lora"), (QWEN, "RTX 4090", "qlora"), (QWEN, "A100-80GB x8", "full"), ("google/gemma-2-2b", "A100-80GB x8", "qlora"),
    ("meta-llama/Llama-3.1-8B-Instruct", "H100 x2", "lora"), ("microsoft/phi-4", "A100-80GB x8", "full"), ("mistralai/Mistral-7B-v0.1", "T4", "qlora"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "gpu", "method"), TUNED)
def test_torchtune_takes_it(model: str, gpu: str, method: str, tmp_path: Path) -> None:
    """Every component is there, and takes the arguments that stand beside it; those that need no weights are built."""
    config = pytest.importorskip("torchtune.config")
    omegaconf = pytest.importorskip("omegaconf")
    file = made(tmp_path / "out", "torchtune", gpu, method, "sft", model)
    said = omegaconf.OmegaConf.load(file)
    config.validate(said)
    with torch.device("meta"):
        built = config.instantiate(said.model)
    assert any("lora" in name for name, _ in built.named_parameters()) is (method != "full")
    optimizer = config.instantiate(said.optimizer, [torch.nn.Parameter(torch.zeros(2))])
    config.instantiate(said.lr_scheduler, optimizer, num_training_steps=1000, last_epoch=-1)
    assert config.instantiate(said.loss).num_output_chunks == 8


TEMPLATE = "{% for message in messages %}{{ message['role'] }} {{ message['content'] }} </s> {% endfor %}"
WORDS = ["<pad>", "<s>", "</s>", "<unk>", "user", "assistant", *(f"w{number}" for number in range(58))]


def tiny(folder: Path) -> Path:
    """A Llama of two layers with a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        chat_template=TEMPLATE,
    )
    tokenizer.save_pretrained(folder)
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=len(WORDS),
        pad_token_id=0, bos_token_id=1, eos_token_id=2, max_position_embeddings=2048, dtype="bfloat16",
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    return folder


def rows(folder: Path) -> Path:
    folder.mkdir()
    with open(folder / "train.jsonl", "w", encoding="utf-8") as file:
        for number in range(64):
            said = [f"w{(number * step) % 58}" for step in range(1, 9)]
            messages = [
                {"role": "user", "content": " ".join(said)},
                {"role": "assistant", "content": " ".join(said[::-1])},
            ]
            file.write(json.dumps({"messages": messages}) + "\n")
    return folder


@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_real_training_with_the_file(method: str, tmp_path: Path, monkeypatch, capsys) -> None:
    """Only the rows are named, the steps made few, and the CPU asked for: all else is as it was written."""
    scripts = pytest.importorskip("trl.scripts.sft")
    pytest.importorskip("datasets")
    file = made(tmp_path / "out", "trl", "RTX 4090", method, "sft", model=str(tiny(tmp_path / "model")))
    monkeypatch.chdir(file.parent)
    words = [
        "--dataset_name",
        str(rows(tmp_path / "rows")),
        "--max_steps",
        "3",
        "--use_cpu",
        "true",
        "--logging_steps",
        "1",
    ]
    given = scripts.make_parser().parse_args_and_config(["--config", file.name, *words], fail_with_unknown_args=True)
    scripts.main(*given)
    state = json.loads(next((file.parent / "out").glob("checkpoint-*/trainer_state.json")).read_text(encoding="utf-8"))
    losses = [row["loss"] for row in state["log_history"] if "loss" in row]
    assert state["global_step"] == 3 and len(losses) == 3 and all(math.isfinite(loss) for loss in losses)
    assert f"per_device_train_batch_size: {state['train_batch_size']}  #" in file.read_text(encoding="utf-8")
    saved = "adapter_model.safetensors" if method == "lora" else "model.safetensors"
    assert (file.parent / "out" / saved).is_file()
    print("losses", losses)
