"""`stablint fit`: the arithmetic as somebody who knows the sizes would do it by hand, the verdicts, and changes that keep what they promise."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import stablint
from stablint.base import knowledge
from stablint.cli import main
from stablint.fitting.answer import Told, answer, decides
from stablint.fitting.batch import most_rows
from stablint.fitting.remedies import remedies
from stablint.memory.plan import NO_SHARE, sure
from stablint.memory.predict import MOMENTS, predict
from tests.runs import world, written

LLAMAFACTORY = (
    "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\ndataset: alpaca_en_demo\n"
    "template: qwen\ncutoff_len: 8192\noutput_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nlearning_rate: 1.0e-4\nbf16: true\n"
)
TRL = (
    "model_name_or_path: {model}\ndataset_name: org/data\noutput_dir: out\nlearning_rate: 1.0e-5\nbf16: true\ndtype: bfloat16\n"
    "per_device_train_batch_size: {batch}\ngradient_accumulation_steps: 1\nmax_length: {length}\ngradient_checkpointing: true\noptim: adamw_torch\n{more}"
)
LORA = "use_peft: true\nlora_r: 16\nlora_target_modules: all-linear\n"
OLD, NEW = ("trl==0.24.0", "trl==1.16.0")
GIB = 2**30


def told(folder: Path, text: str, gpu: str = "A100-80GB x1", releases: tuple[str, ...] = (OLD,)) -> Told:
    return answer(world(folder, {"train.yaml": text}, gpus=[gpu], releases=list(releases)), gpu)


def gib(one: Told, component: str) -> float:
    assert one.estimate is not None
    return one.estimate.components.get(component, 0.0) / GIB


def test_full_training_in_half_precision_peaks_at_the_step_with_ten_bytes_a_parameter(tmp_path: Path) -> None:
    """Weights 2, gradients 2, two moments 4, and 2 for the temporaries of a step: nothing of it depends on short rows."""
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=256, more="packing: true\n")
    found = told(tmp_path, text)
    assert found.estimate is not None and found.estimate.moment == MOMENTS[5]
    parts = sum(gib(found, name) for name in ("weights", "gradients", "optimizer", "step"))
    assert parts == pytest.approx(7615616512 * 10 / GIB, rel=0.001)


def test_logits_take_twelve_bytes_a_word(tmp_path: Path) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=2, length=4096, more="packing: true\n" + LORA)
    assert gib(told(tmp_path, text), "logits") == pytest.approx(2 * 4096 * 152064 * 12 / GIB, rel=0.02)


TORCHTUNE = (
    "model:\n  _component_: torchtune.models.qwen2.qwen2_0_5b\ncheckpointer:\n  _component_: torchtune.training.FullModelHFCheckpointer\n"
    "  checkpoint_dir: models/Qwen2-0.5B-Instruct\ntokenizer:\n  max_seq_len: 2048\noptimizer:\n  _component_: torch.optim.AdamW\n  fused: true\n  lr: 1.0e-5\n"
    "loss:\n  _component_: {loss}\n"
    "batch_size: 1\ngradient_accumulation_steps: 1\nepochs: 1\nenable_activation_checkpointing: true\ndevice: cuda\ndtype: {dtype}\n"
)
# torchtune's own loss: the dtype, and bytes a logit at the end of the forward pass (traced: 6.5 and 8.0).
PIECEWISE = [("bf16", 6.5), ("fp32", 8.0)]


@pytest.mark.parametrize(("dtype", "each"), PIECEWISE)
def test_torchtunes_loss_makes_logits_float32_piece_by_piece(tmp_path: Path, dtype: str, each: float) -> None:
    logits = 2048 * 151936 / GIB
    for loss, least in (("torchtune.modules.loss.CEWithChunkedOutputLoss", each), ("torch.nn.CrossEntropyLoss", 10.0)):
        text = TORCHTUNE.format(loss=loss, dtype=dtype)
        found = answer(world(tmp_path, {"train.yaml": text}, gpus=["RTX 4090"]), "RTX 4090")
        assert found.estimate is not None
        most = max(parts.get("logits", 0.0) for parts in found.estimate.parts.values()) / GIB
        assert most == pytest.approx(each * logits, rel=0.01) if least == each else most >= least * logits


def test_scores_of_a_block_that_is_computed_again_are_there_once(tmp_path: Path) -> None:
    """Grouped keys in float32 leave the scores in memory: of every block where they are kept, of one where it is checkpointed."""
    text = TRL.format(model="Qwen/Qwen2.5-0.5B", batch=1, length=4096, more="use_liger_kernel: true\n")
    text = text.replace("bf16: true\ndtype: bfloat16", "bf16: false\ndtype: float32")
    scores = 4096 * 4096 * 14 * 4 / GIB
    moments = []
    for switch in ("true", "false"):
        one = told(tmp_path, text.replace("checkpointing: true", f"checkpointing: {switch}"))
        assert one.estimate is not None
        moments.append(one.estimate.parts[MOMENTS[0]].get("attention", 0.0) / GIB)
    assert moments[0] < 0.1 * scores and moments[1] >= 24 * scores


# The release or switch, and the most that is left of 14 GiB of logits.
CHUNKED = [((NEW,), "", 2.0), ((OLD,), "use_liger_kernel: true\n", 3.0)]


@pytest.mark.parametrize(("releases", "more", "most"), CHUNKED)
def test_a_loss_in_pieces_keeps_no_logits(tmp_path: Path, releases: tuple[str, ...], more: str, most: float) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=8192, more="packing: true\n" + LORA)
    assert gib(told(tmp_path, text), "logits") > 13
    assert gib(told(tmp_path, text + more, releases=releases), "logits") < most


# The file, the card, the verdict.
VERDICTS = [
    (LLAMAFACTORY, "RTX 4090 x4", "tight"),  # fits with short rows only
    (LLAMAFACTORY.replace("7B", "72B"), "RTX 4090 x4", "does-not-fit"),
    (LLAMAFACTORY.replace("7B", "72B"), "RTX 4090 x400", "does-not-fit"),  # every card holds a copy
    (LLAMAFACTORY.replace("8192", "512").replace("size: 4", "size: 1"), "RTX 4090 x1", "fits"),
    (TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=1024, more=""), "A100-40GB x1", "does-not-fit"),
    (TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=1024, more=LORA), "A100-40GB x1", "fits"),
    (TRL.format(model="Qwen/Qwen2.5-72B", batch=1, length=1024, more=LORA), "A100-40GB x1", "does-not-fit"),
    (TRL.format(model="somebody/unheard-of", batch=1, length=1024, more=LORA), "A100-40GB x1", "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gpu", "verdict"), VERDICTS)
def test_verdicts(tmp_path: Path, text: str, gpu: str, verdict: str) -> None:
    assert told(tmp_path, text, gpu).verdict == verdict


@pytest.mark.parametrize(("gpu", "verdict"), [("V100-16GB", "tight"), ("V100", "tight"), ("V100-32GB", "fits")])
def test_what_fits_on_the_larger_card_of_a_name_is_not_said_to_fit(tmp_path: Path, gpu: str, verdict: str) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=1024, more=LORA)
    found = told(tmp_path, text, gpu)
    assert found.verdict == verdict
    assert ("write which" in decides(found)) is (gpu == "V100")


def test_engines_keep_what_their_files_say(tmp_path: Path) -> None:
    """ZeRO-3 over four cards: a quarter of 16 bytes a parameter, and buffers of the sizes that are set."""
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=1024, more="packing: true\ndeepspeed: ds.json\n")
    small = '{"zero_optimization": {"stage": 3, "reduce_bucket_size": 1000000, "stage3_max_live_parameters": 1000000}, "bf16": {"enabled": true}}'
    large = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}'
    found = []
    for config in (small, large):
        one = answer(
            world(tmp_path, {"train.yaml": text, "ds.json": config}, gpus=["A100-80GB x4"], releases=[OLD]), ""
        )
        assert one.reading is not None and one.reading.plan.sharding.processes == 4
        parts = sum(gib(one, name) for name in ("weights", "optimizer", "gradients"))
        assert parts == pytest.approx(7615616512 * 16 / 4 / GIB, rel=0.01)
        assert one.estimate is not None
        back = one.estimate.parts[MOMENTS[3]]  # nothing is gathered while the optimizer steps
        found.append((back["gathered"] + back["buckets"]) / GIB)
    assert found[0] < 0.2 and found[1] == pytest.approx((1e9 * 2 + 2 * (5e7 + 2 * 5e8)) / GIB, rel=0.01)


UNSLOTH = """\
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastLanguageModel.from_pretrained("{model}", max_seq_length=2048, dtype=None, load_in_4bit={bits})
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj", "v_proj"], use_gradient_checkpointing="unsloth")
SFTTrainer(model=model, train_dataset=data, args=SFTConfig(output_dir="out", per_device_train_batch_size=2, learning_rate=2e-4)).train()
"""
# Notebooks of this form ran on these cards.
RAN = [
    ("unsloth/Llama-3.1-8B", True, "T4"),
    ("Qwen/Qwen2.5-7B", True, "T4"),
    ("Qwen/Qwen3-14B", True, "T4"),
    ("Qwen/Qwen2.5-32B", False, "A100-80GB"),
]


@pytest.mark.parametrize(("model", "bits", "gpu"), RAN)
def test_what_ran_is_not_said_not_to_fit(tmp_path: Path, model: str, bits: bool, gpu: str) -> None:
    """Unsloth's loss takes what memory is free: it is seen, and never the reason."""
    one = answer(world(tmp_path, {"train.py": UNSLOTH.format(model=model, bits=bits)}, gpus=[gpu]), gpu)
    assert one.verdict in ("fits", "tight")
    assert one.estimate is not None and one.reading is not None
    assert one.reading.plan.loss == "elastic" and one.estimate.host > 0


# What is not counted, and the word that says so.
UNCOUNTED = [
    ("model_name_or_path: google/gemma-3-4b-it", "images"),
    ("model_name_or_path: mistralai/Mixtral-8x7B-v0.1", "experts"),
    ("model_name_or_path: Qwen/Qwen-7B", "were not traced"),
]


@pytest.mark.parametrize(("line", "word"), UNCOUNTED)
def test_what_is_not_counted_is_said(tmp_path: Path, line: str, word: str, capsys: Any) -> None:
    text = "\n".join([line, *(TRL + LORA).splitlines()[1:], ""]).format(batch=1, length=512, more="")
    path = Path(written(tmp_path, {"train.yaml": text})) / "train.yaml"
    main(["fit", str(path), "--gpu", "B200"])
    assert word in capsys.readouterr().out


# Numbers that no run has: told as not known, or counted, and never a fault.
ODD = [
    "max_length: 1" + "0" * 400, "max_length: -1", "per_device_train_batch_size: 0", "lora_r: 99999999999999999999", "gradient_accumulation_steps: 0",
    "per_device_train_batch_size: 1.5", "max_length: [1, 2]", "optim: [adamw]", "lora_dropout: high", "attn_implementation: 7",
]  # fmt: skip


@pytest.mark.parametrize("line", ODD)
def test_no_number_is_too_odd(tmp_path: Path, line: str, capsys: Any) -> None:
    name = line.partition(":")[0]
    kept = [one for one in (TRL + LORA).splitlines() if not one.startswith(f"{name}:")]
    text = "\n".join([*kept, line, ""]).format(model="Qwen/Qwen2.5-7B", batch=2, length=512, more="")
    path = Path(written(tmp_path, {"train.yaml": text})) / "train.yaml"
    assert main(["fit", str(path), "--gpu", "T4", "--output-format", "json"]) in (0, 1, 2)
    printed = capsys.readouterr()
    assert "internal error" not in printed.err
    assert json.loads(printed.out)["verdict"] in CODES


CODES = {"fits": 0, "tight": 0, "does-not-fit": 1, "unknown": 2}


@pytest.mark.parametrize(("text", "gpu", "verdict"), VERDICTS)
def test_the_exit_code_and_the_json_say_the_same(
    tmp_path: Path, text: str, gpu: str, verdict: str, capsys: Any
) -> None:
    path = Path(written(tmp_path, {"train.yaml": text})) / "train.yaml"
    code = main(["fit", str(path), "--gpu", gpu, "--with", OLD, "--output-format", "json"])
    data = json.loads(capsys.readouterr().out)
    assert (code, data["verdict"]) == (CODES[verdict], verdict)
    if verdict != "unknown":
        low, high = data["range_gib"]
        assert low <= data["peak_gib"] <= high
        assert sum(part["gib"] for part in data["components"].values()) == pytest.approx(data["peak_gib"], abs=0.02)
        assert data["moments"][data["moment"]] == data["peak_gib"] == max(data["moments"].values())
        assert data["readings"] and all("." in fact for part in data["components"].values() for fact in part["facts"])


def test_several_cards_are_told_one_by_one(tmp_path: Path, capsys: Any) -> None:
    path = Path(written(tmp_path, {"train.yaml": LLAMAFACTORY.replace("7B", "72B")})) / "train.yaml"
    assert main(["fit", str(path), "--gpu", "RTX 4090", "--gpu", "B200", "--output-format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [one["target"]["gpu"] for one in data["runs"]] == ["RTX 4090", "B200"]
    assert [one["verdict"] for one in data["runs"]] == ["does-not-fit", "tight"]


def test_a_base_that_trl_loads_in_float32_is_offered_as_it_was_published(tmp_path: Path, capsys: Any) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=512, more=LORA).replace("dtype: bfloat16\n", "")
    folder = Path(written(tmp_path, {"train.yaml": text}))
    words = [str(folder / "train.yaml"), "--gpu", "RTX 4090", "--with", "trl==1.16.0", "--output-format", "json"]
    assert main(["fit", *words]) == 1
    first = json.loads(capsys.readouterr().out)["remedies"][0]
    assert first["verdict"] == "fits" and "bfloat16" in first["title"]
    main(["fit", *words, "--apply", "1"])
    assert "dtype: bfloat16" in (folder / "train.yaml").read_text(encoding="utf-8")


def test_every_change_that_is_offered_keeps_its_promise(tmp_path: Path, capsys: Any) -> None:
    """Written with --apply, the file gives the promised peak and verdict, and draws no warning."""
    folder = Path(written(tmp_path, {"train.yaml": LLAMAFACTORY}))
    words = [str(folder / "train.yaml"), "--gpu", "RTX 4090 x4", "--output-format", "json"]
    main(["fit", *words])
    offered = json.loads(capsys.readouterr().out)["remedies"]
    assert len(offered) >= 3
    for number, one in enumerate(offered, 1):
        (folder / "train.yaml").write_text(LLAMAFACTORY, encoding="utf-8")
        code = main(["fit", *words, "--apply", str(number)])
        printed = capsys.readouterr()
        if not one["edits"]:  # sharding takes a file of its own
            assert code == 2 and "by hand" in printed.err and "zero_optimization.stage: 3" in printed.err
            continue
        assert code == 0
        assert (folder / "train.yaml").read_text(encoding="utf-8") != LLAMAFACTORY
        main(["fit", *words])
        again = json.loads(capsys.readouterr().out)
        assert again["peak_gib"] == pytest.approx(one["peak_gib"], rel=0.01)
        assert again["verdict"] == one["verdict"]
        assert main(["check", words[0], "--gpu", "RTX 4090 x4", "--fail-on", "warning"]) == 0
        capsys.readouterr()


def test_sharding_is_offered_where_there_are_several_cards(tmp_path: Path, capsys: Any) -> None:
    path = Path(written(tmp_path, {"train.yaml": LLAMAFACTORY.replace("7B", "72B")})) / "train.yaml"
    for gpu, offered in (("A100-80GB x8", True), ("A100-80GB x1", False)):
        main(["fit", str(path), "--gpu", gpu, "--output-format", "json"])
        titles = [one["title"] for one in json.loads(capsys.readouterr().out)["remedies"]]
        assert any("ZeRO-3 over 8" in title for title in titles) is offered


# Names of an adapter's layers, and where it sits for what is kept of a block.
SPREADS = [
    ("[q_proj, v_proj]", "attention"), ("[query, value]", "attention"), ("[wq, wk, wv, wo]", "attention"), ("[q_proj, up_proj]", "all"),
    ("all-linear", "all"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "spread"), SPREADS)
def test_an_adapter_on_the_attention_keeps_less(tmp_path: Path, names: str, spread: str) -> None:
    more = f"packing: true\nuse_peft: true\nlora_r: 16\nlora_target_modules: {names}\n"
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=512, more=more)
    one = told(tmp_path, text)
    assert one.reading is not None and one.reading.plan.spread == spread


def test_a_type_that_was_not_traced_takes_the_figures_of_one_that_is_built_like_it(tmp_path: Path) -> None:
    """Phi's blocks have no gate, as GPT-NeoX's; what is not known at all counts as a Llama. Either way the range says that it is a guess."""
    for model, near in (("microsoft/phi-2", "gpt_neox"), ("Qwen/Qwen-7B", "llama")):
        one = told(tmp_path, TRL.format(model=model, batch=1, length=512, more=LORA))
        assert one.reading is not None and one.reading.type == near
        assert one.reading.plan.activations == (0.8, 1.0, 1.25)


def test_gaps_of_loading_are_seen_and_not_needed(tmp_path: Path) -> None:
    """5% of the weights at the high end of the range; the allocator gives them back before it runs out, so no verdict rests on them."""
    one = told(tmp_path, TRL.format(model="Qwen/Qwen2.5-14B", batch=1, length=64, more="packing: true\n" + LORA))
    assert one.reading is not None and one.estimate is not None
    without = predict(one.reading.plan._replace(loading=NO_SHARE), knowledge.load("memory/qwen2"))
    assert one.estimate.peak.high - without.peak.high == pytest.approx(0.05 * 14770033664 * 2, rel=0.001)
    assert one.estimate.needed == without.needed and one.estimate.peak.low == without.peak.low


def test_a_release_that_nobody_states_is_both(tmp_path: Path) -> None:
    """The newest TRL computes the loss in pieces, an older one that may run as well does not: the high end has the whole logits."""
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=8192, more="packing: true\n" + LORA)
    old, new, either = (told(tmp_path, text, releases=releases) for releases in ((OLD,), (NEW,), ()))
    assert old.peak[1] - new.peak[1] > 10
    assert (either.peak[0], either.peak[1]) == (new.peak[0], new.peak[1])
    assert either.peak[2] == pytest.approx(old.peak[2], rel=0.02)
    assert either.reading is not None and any("whole logits" in one for one in either.reading.assumptions)


def test_fsdp_keeps_what_is_trained_in_float32_whatever_it_was_loaded_in(tmp_path: Path) -> None:
    """16 bytes a parameter over four cards: weights 4, gradients 4, two moments 8 (accelerate 1.15.0 accelerator.py:2037)."""
    more = "packing: true\nfsdp: full_shard auto_wrap\n"
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=64, more=more)
    files = {"train.yaml": text, "run.sh": "accelerate launch --num_processes 4 train.py --config train.yaml\n"}
    one = answer(world(tmp_path, files, gpus=["A100-80GB x4"], releases=[OLD]), "")
    assert one.reading is not None and one.reading.plan.sharding.processes == 4
    parts = sum(gib(one, name) for name in ("weights", "optimizer", "gradients"))
    assert parts == pytest.approx(7615616512 * 16 / 4 / GIB, rel=0.01)


EACH = "accelerator_config: {gradient_accumulation_kwargs: {sync_each_batch: true}}\n"


@pytest.mark.parametrize(
    ("steps", "more", "releases", "whole"),
    [
        (1, "fsdp: full_shard\n", ["transformers==5.23.0"], False),
        (8, "fsdp: full_shard\n", ["transformers==5.1.0"], True),
        (8, "fsdp: full_shard\n" + EACH, ["transformers==5.2.0"], False),
        (8, "fsdp: full_shard\n" + EACH, ["transformers==5.1.0"], True),
        (8, "fsdp: full_shard\n" + EACH, ["transformers==4.45.2"], False),
        (8, "fsdp: true\nfsdp_config: {version: 2}\n", ["transformers==5.23.0", "accelerate==1.11.0"], True),
        (8, "fsdp: true\nfsdp_config: {version: 2}\n", ["transformers==5.0.0", "accelerate==1.10.1"], False),
    ],
)
def test_fsdp_divides_gradients_after_the_last_micro_batch(
    tmp_path: Path, steps: int, more: str, releases: list[str], whole: bool
) -> None:
    """Two bytes a parameter on each card until then (transformers 5.23.0 trainer.py:1896, accelerate 1.15.0 accelerator.py:1166)."""
    text = TRL.format(
        model="Qwen/Qwen2.5-7B", batch=1, length=64, more=more + f"gradient_accumulation_steps: {steps}\n"
    )
    files = {"train.yaml": text, "run.sh": "accelerate launch --num_processes 8 train.py --config train.yaml\n"}
    one = answer(world(tmp_path, files, gpus=["A100-80GB x8"], releases=releases), "")
    assert one.reading is not None
    assert one.reading.plan.sharding.deferred == sure(1.0 if whole else 0.0)
    assert (gib(one, "gradients") >= 7615616512 * 2 / GIB) is whole


def test_weights_that_an_engine_casts_and_states_on_the_host_rule_nothing_out(tmp_path: Path) -> None:
    """T5-11B under ZeRO-2 with its states on the host ran on one card of 40 GB (huggingface/transformers#9996)."""
    ds = '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}'
    script = "deepspeed --num_gpus=1 run_translation.py --model_name_or_path t5-11b --output_dir o --do_train --learning_rate 1e-4 --fp16 --deepspeed ds.json\n"
    one = answer(world(tmp_path, {"run.sh": script, "ds.json": ds}, gpus=["A100-40GB x1"]), "")
    assert one.verdict == "tight"


@pytest.mark.parametrize(
    ("precision", "loaded", "bytes_each"),
    [("bf16", "float32", 2), ("fp16", "float32", 2), ("bf16", "bfloat16", 2), ("", "float32", 4)],
)
def test_deepspeed_casts_the_whole_module_before_it_comes_onto_the_card(tmp_path, precision, loaded, bytes_each):
    more = f"packing: true\ndeepspeed: ds.json\ndtype: {loaded}\n"
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=64, more=more).replace("dtype: bfloat16\n", "", 1)
    text = text.replace("bf16: true\n", f"{precision}: true\n" if precision else "bf16: false\n")
    ds = {"zero_optimization": {"stage": 2}} | ({precision: {"enabled": True}} if precision else {})
    one = answer(world(tmp_path, {"train.yaml": text, "ds.json": json.dumps(ds)}, gpus=["H100"], releases=[NEW]), "")
    assert one.estimate is not None
    assert gib(one, "weights") == pytest.approx(7615616512 * bytes_each / GIB, rel=0.001)
    assert not one.estimate.parts[MOMENTS[0]].get("copies"), "nothing is left for autocast to copy"


def test_rows_whose_length_nobody_says_are_as_long_as_the_model_takes_at_most(tmp_path: Path) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-14B", batch=1, length=64, more="").replace("max_length: 64\n", "")
    one = told(tmp_path, text)
    assert one.reading is not None and tuple(one.reading.plan.length) == (64, 1024, 131072)
    assert one.verdict == "does-not-fit", "weights, gradients and states alone are more than the card has"
    assert any("the longest row is not known" in assumed for assumed in one.reading.assumptions)


def test_a_run_that_fits_is_seen_within_the_card(tmp_path: Path) -> None:
    """What the allocator keeps without need is as much as there is room for: on a larger card more of it, and nowhere more than the card has."""
    text = LLAMAFACTORY.replace("8192", "2048").replace("size: 4", "size: 1")
    small, large = (told(tmp_path, text, gpu) for gpu in ("RTX 4090 x1", "B200 x1"))
    assert (small.verdict, large.verdict) == ("tight", "fits")
    assert small.usable is not None and small.peak[2] <= small.usable < large.peak[2]
    for one in (small, large):
        assert one.estimate is not None
        assert sum(one.estimate.components.values()) / GIB == pytest.approx(one.peak[1])
        assert max(one.estimate.moments.values()) / GIB == pytest.approx(one.peak[1])
    assert gib(small, "cache") <= gib(large, "cache") and gib(small, "logits") == gib(large, "logits")


def test_an_objective_that_nobody_states_is_said_to_be_a_guess(tmp_path: Path) -> None:
    """Settings of preference training without the trainer that reads them: with a second model and pairs of rows it would be more."""
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=512, more="beta: 0.1\nmax_prompt_length: 256\n")
    one = told(tmp_path, text)
    assert one.reading is not None and one.reading.is_guessed
    assert any("objective" in assumption for assumption in one.reading.assumptions)


# Wrong use, and a word of what is said.
WRONG = [
    (["--gpu", "RTX 4090 x4", "--apply", "9"], "to choose from"),
    ([], "name the card"),
    (["--gpu", "RTX 4090", "--gpu", "B200", "--apply", "1"], "one run on one card"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_wrong_use_is_told(tmp_path: Path, words: list[str], said: str, capsys: Any) -> None:
    path = Path(written(tmp_path, {"train.yaml": LLAMAFACTORY})) / "train.yaml"
    assert main(["fit", str(path), *words]) == 2
    assert said in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == LLAMAFACTORY


def test_the_library_gives_the_same_as_the_command(tmp_path: Path) -> None:
    path = Path(written(tmp_path, {"train.yaml": LLAMAFACTORY})) / "train.yaml"
    (one,) = stablint.fit(path, gpu="RTX 4090 x4")
    assert (one.verdict, one.gpu) == ("tight", "RTX 4090 x4")
    assert one.peak_gib is not None and one.range_gib is not None
    assert one.range_gib[0] < one.peak_gib < one.range_gib[1]
    assert [remedy.verdict for remedy in one.remedies]
    with pytest.raises(ValueError, match="unknown GPU"):
        stablint.fit(path, gpu="RTX 9999")
    with pytest.raises(FileNotFoundError):
        stablint.fit(tmp_path / "nothing.yaml", gpu="B200")


def test_the_page_shows_what_is_printed(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "fit.md").read_text(encoding="utf-8")
    text = page.partition("```yaml\n")[2].partition("```")[0]
    shown = page.partition("prints\n\n```\n")[2].partition("```")[0]
    monkeypatch.chdir(written(tmp_path, {"train.yaml": text}))
    assert main(["fit", "train.yaml", "--gpu", "RTX 4090 x4"]) == 0
    assert capsys.readouterr().out == shown


AXOLOTL = (
    "base_model: Qwen/Qwen2.5-7B\ndatasets: [{path: org/data, type: alpaca}]\noutput_dir: out\nsequence_len: 1024\nmicro_batch_size: 1\n"
    "gradient_accumulation_steps: 1\nlearning_rate: 1.0e-5\nnum_epochs: 1\nbf16: true\ngradient_checkpointing: true\noptimizer: adamw_torch\n"
)


@pytest.mark.parametrize(
    ("more", "shares"), [("fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n", 4), ("fsdp_version: 2\n", 1)]
)
def test_axolotl_shards_where_it_is_given_options_of_fsdp(tmp_path: Path, more: str, shares: int) -> None:
    """It has no switch beside them; a version alone switches nothing on."""
    found = told(tmp_path, AXOLOTL + more, "A100-80GB x4", ("axolotl==0.19.0",))
    assert found.reading is not None and found.reading.plan.sharding.weights == shares


def test_fsdp_gathers_a_base_in_four_bits_as_it_is_kept(tmp_path: Path) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-72B", batch=1, length=1024, more=LORA + "fsdp: full_shard\n")
    whole = gib(told(tmp_path, text, "A100-80GB x4"), "gathered")
    assert whole > gib(told(tmp_path, text + "load_in_4bit: true\n", "A100-80GB x4"), "gathered") + 2


def test_the_questions_of_the_page_have_these_answers(tmp_path: Path, capsys: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "fit.md").read_text(encoding="utf-8").partition("## Questions")[2]
    path = tmp_path / "qwen3.yaml"
    path.write_text(page.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    rows = [line.split(" | ") for line in page.partition("|---|")[2].splitlines()[1:] if line.startswith("| ")]
    assert len(rows) >= 10
    for question, words, answered, _ in rows:
        main(["fit", str(path), *shlex.split(words.strip("`")), "--isolated", "--output-format", "json"])
        data = json.loads(capsys.readouterr().out)
        low, high = data["range_gib"]
        shown = f"{data['verdict'].replace('-', ' ')}, {data['peak_gib']:.1f} ({low:.1f} to {high:.1f})"
        assert shown == answered, question


MIXTURE = TRL.format(model="Qwen/Qwen3-30B-A3B", batch=1, length=2048, more="{more}")
# Adapters, the release of transformers, and GiB of the base at the low end: 0.56 bytes a parameter where experts are linear layers.
HALF, FOURTH = 56.9, 16.6
ROUTED = [
    ('use_peft: true\nlora_target_modules: [q_proj, v_proj]\n', "5.17.0", HALF),
    (LORA, "5.17.0", HALF), (LORA, "4.57.0", HALF),
    ('use_peft: true\nload_in_4bit: true\nlora_target_modules: [q_proj]\n', "5.17.0", 55.8),
    ('use_peft: true\nload_in_4bit: true\nlora_target_modules: [q_proj]\n', "4.57.0", FOURTH),
]  # fmt: skip


@pytest.mark.parametrize(("more", "release", "base"), ROUTED)
def test_experts_are_linear_layers_before_transformers_5(tmp_path: Path, more: str, release: str, base: float) -> None:
    found = told(tmp_path, MIXTURE.format(more=more), "H200", (f"transformers=={release}",))
    assert gib(found, "weights") == pytest.approx(base, rel=0.02)
    if more == LORA:  # rank 16 over 128 experts of three matrices a block, or over four matrices of attention
        assert gib(found, "adapters") == pytest.approx(3.2 if release < "5" else 0.05, rel=0.1)


def test_experts_of_a_release_that_nobody_states_are_a_range_over_both(tmp_path: Path) -> None:
    more = "use_peft: true\nload_in_4bit: true\nlora_target_modules: [q_proj]\n"
    low, usual, high = told(tmp_path, MIXTURE.format(more=more), "H200").peak
    assert low < 20 and high >= usual > 56


def test_llama_factorys_preference_trainers_build_whole_logits_beside_liger(tmp_path: Path) -> None:
    """LLaMA-Factory 0.9.5 model/model_utils/liger_kernel.py: a fused loss for supervised stages only."""
    text = (
        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: {stage}\ndo_train: true\nfinetuning_type: lora\nlora_target: all\ndataset: x\ntemplate: qwen\n"
        "cutoff_len: 4096\noutput_dir: out\nper_device_train_batch_size: 1\nenable_liger_kernel: true\nbf16: true\n{more}"
    )
    fused, whole = (
        told(tmp_path, text.format(stage=stage, more=more), "A100-80GB")
        for stage, more in (("sft", ""), ("dpo", "pref_loss: sigmoid\n"))
    )
    assert gib(fused, "logits") < 1
    assert gib(whole, "logits") > 2 * 4096 * 152064 * 12 / GIB * 0.95


def test_a_length_that_is_the_models_own_is_not_taken_for_the_rows(tmp_path: Path) -> None:
    text = "swift sft --model Qwen/Qwen2.5-0.5B-Instruct --train_type lora --dataset x --torch_dtype bfloat16 --per_device_train_batch_size 4\n"
    one = answer(world(tmp_path, {"run.sh": text}, gpus=["A10"]), "A10")
    assert one.reading is not None and one.reading.plan.length == (64, 1024, 32768)


def test_a_row_that_several_cards_share_is_a_part_of_it_on_each(tmp_path: Path) -> None:
    """ms-swift's sequence parallelism: tokens, and with them activations and logits."""
    text = "swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --torch_dtype bfloat16 --dataset x --max_length 32768 {more}\n"
    sizes = []
    for more in ("", "--sequence_parallel_size 4"):
        texts = {"run.sh": "NPROC_PER_NODE=8 " + text.format(more=more + " --per_device_train_batch_size 1")}
        one = answer(world(tmp_path, texts, gpus=["A100-80GB x8"]), "A100-80GB x8")
        assert one.estimate is not None, one.why
        sizes.append(one.estimate.parts[MOMENTS[1]]["logits"])
    assert sizes[0] == pytest.approx(4 * sizes[1], rel=0.01)


def test_states_that_exceed_the_card_are_enough_where_the_dimensions_are_not_known(tmp_path: Path) -> None:
    """LlamaFactory 313: plain data parallelism keeps all states of billions of parameters on each V100."""
    line = (
        "accelerate launch --multi_gpu --num_processes 8 src/train_bash.py --stage sft --do_train --model_name_or_path microsoft/Phi-4-multimodal-instruct "
        "--template default --dataset ours --finetuning_type full --output_dir out --learning_rate 5e-6 --per_device_train_batch_size 1 --fp16\n"
    )
    found = answer(world(tmp_path, {"go.sh": line}, gpus=["V100-32GB x8"]), "V100-32GB x8")
    assert found.verdict == "does-not-fit"
    assert found.reading is not None and found.reading.is_guessed


def test_a_program_is_taken_for_what_it_is_called_after(tmp_path: Path) -> None:
    """Pairs and a copy to compare with, and it is said to be a guess."""
    texts = {
        "config.yaml": TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=1024, more="max_prompt_length: 512\n"),
        "train.sh": "python scripts/run_dpo.py config.yaml\n",
    }
    one = answer(world(tmp_path, texts, gpus=["H200"], releases=[OLD]), "H200")
    assert one.reading is not None and one.reading.plan.reference and one.reading.plan.rows == 2
    assert one.reading.is_guessed and any("after the program's name" in word for word in one.reading.assumptions)


@pytest.mark.parametrize("more", ["optimizer_in_bwd: true\n", "optimizer_in_bwd: false\n"])
def test_gradients_that_are_used_at_once_are_never_all_there(tmp_path: Path, more: str) -> None:
    text = TORCHTUNE.format(loss="torchtune.modules.loss.CEWithChunkedOutputLoss", dtype="bf16") + more
    found = answer(world(tmp_path, {"train.yaml": text}, gpus=["RTX 4090"]), "RTX 4090")
    assert found.estimate is not None
    most = max(parts.get("gradients", 0.0) for parts in found.estimate.parts.values()) / GIB
    assert (most < 0.3) is ("true" in more)  # the largest matrix, and of all 494 million parameters; two bytes each
    assert not any(parts.get("step") for parts in found.estimate.parts.values())  # fused


def test_the_largest_batch_is_the_last_that_fits(tmp_path: Path) -> None:
    (tmp_path / "train.yaml").write_text(TRL.format(model="Qwen/Qwen2.5-7B", batch=4, length=1024, more=LORA))
    (one,) = stablint.fit(tmp_path / "train.yaml", gpu=["A100-80GB x1"], releases=[OLD])
    assert one.most_rows is not None and one.most_rows >= 4
    for rows, fits in ((one.most_rows, True), (one.most_rows + 1, False)):
        text = TRL.format(model="Qwen/Qwen2.5-7B", batch=rows, length=1024, more=LORA)
        assert (told(tmp_path, text).verdict == "fits") is fits


def test_rows_of_groups_have_no_largest_batch(tmp_path: Path) -> None:
    text = TRL.format(
        model="Qwen/Qwen2.5-7B", batch=4, length=1024, more="num_generations: 4\nmax_completion_length: 256\n" + LORA
    )
    texts = {"train.yaml": text, "run.sh": "trl grpo --config train.yaml\n"}
    w = world(tmp_path, texts, gpus=["A100-80GB"])
    assert most_rows(w, answer(w, "A100-80GB")) is None


def test_offloaded_states_are_offered_where_deepspeed_divides_and_written_into_its_file(tmp_path: Path) -> None:
    zero = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"}'
    texts = {
        "ds.json": zero,
        "train.yaml": TRL.format(
            model="Qwen/Qwen2.5-7B", batch=1, length=1024, more="deepspeed: ds.json\ngradient_checkpointing: true\n"
        ),
        "run.sh": "accelerate launch --num_processes 4 -m trl.scripts.sft --config train.yaml\n",
    }
    w = world(tmp_path, texts, gpus=["A100-40GB x4"], releases=[OLD])
    before = answer(w, "A100-40GB x4")
    away = next(
        one for one in remedies(w, before) if "deepspeed.zero_optimization.offload_optimizer.device" in one.facts
    )
    assert away.files and before.peak[1] - away.peak[1] > 7615616512 * 12 / 4 / GIB


def test_the_host_keeps_four_bits_of_a_four_bit_base(tmp_path: Path) -> None:
    text = (
        "base_model: meta-llama/Llama-3.1-70B\nload_in_4bit: true\nadapter: qlora\nsequence_len: 2048\nlora_r: 16\nlora_alpha: 32\n"
        "lora_target_linear: true\nmicro_batch_size: 1\nnum_epochs: 1\noptimizer: adamw_torch_fused\nlearning_rate: 0.0002\nbf16: true\n"
        "datasets: [{path: x, type: alpaca}]\noutput_dir: out\nfsdp: [full_shard, auto_wrap]\n"
        "fsdp_config: {fsdp_offload_params: true, fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer}\n"
    )
    found = told(tmp_path, text, "RTX 4090 x2", ())
    assert found.estimate is not None and found.estimate.host / GIB == pytest.approx(
        70.55e9 * 0.53 / 2 / GIB + 1.6, rel=0.1
    )


def test_a_feed_forward_network_of_which_nothing_is_said_is_four_times_as_wide(tmp_path: Path) -> None:
    found = told(tmp_path, TRL.format(model="openai-community/gpt2", batch=1, length=512, more=""), "T4")
    assert found.reading is not None and found.reading.plan.shape.intermediate == 4 * 768


def test_a_run_that_needs_less_and_fills_the_card_is_tight_and_says_what_it_needs(tmp_path: Path) -> None:
    """What the allocator keeps besides is as much as there is room for."""
    text = LLAMAFACTORY.replace("Qwen2.5-7B-Instruct", "Qwen3-4B-Instruct-2507").replace(
        "cutoff_len: 8192", "cutoff_len: 2048"
    )
    found = told(tmp_path, text.replace("batch_size: 4", "batch_size: 2"), "RTX 4090 x1", ())
    assert found.estimate is not None and found.usable is not None
    assert found.verdict == "tight" and found.peak[1] == pytest.approx(found.usable, rel=0.01)
    assert f"{found.estimate.needed / GIB:.1f} GiB are needed at once" in decides(found)


LIGER = [
    ("0.24.0", "use_liger_kernel", False),
    ("0.24.0", "use_liger_loss", True),
    ("0.27.2", "use_liger_kernel", True),
]


@pytest.mark.parametrize(("release", "switch", "fused"), LIGER)
def test_trls_preference_trainers_fuse_by_their_own_switch_before_0_25(
    tmp_path: Path, release: str, switch: str, fused: bool
) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=4096, more=f"{switch}: true\nbeta: 0.1\n" + LORA)
    texts = {"train.yaml": text, "run.sh": "trl dpo --config train.yaml\n"}
    found = answer(world(tmp_path, texts, gpus=["H200"], releases=[f"trl=={release}"]), "H200")
    assert found.estimate is not None
    logits = max(parts.get("logits", 0.0) for parts in found.estimate.parts.values()) / GIB
    assert (logits < 3) is fused


def test_what_if_a_stage_of_zero_that_no_file_brings(tmp_path: Path) -> None:
    (tmp_path / "train.yaml").write_text(TRL.format(model="Qwen/Qwen2.5-7B", batch=1, length=1024, more=""))
    asked = ["deepspeed.zero_optimization.stage=2"]
    (one,) = stablint.fit(tmp_path / "train.yaml", gpu=["A100-40GB x4"], facts=asked)
    assert one.components["optimizer"] == pytest.approx(7615616512 * 12 / 4 / GIB, rel=0.01)


def test_attention_that_nobody_chose_keeps_its_scores_where_torch_has_no_kernel_for_the_model(tmp_path: Path) -> None:
    """Gemma 2 caps its scores: 12 bytes of each of 16 heads x 8192 x 8192 of the one block that is computed again."""
    text = TRL.format(model="google/gemma-2-9b", batch=1, length=8192, more=LORA)
    found = told(tmp_path, text, releases=(NEW,))
    flash = told(tmp_path, text + "attn_implementation: flash_attention_2\n", releases=(NEW,))
    assert found.reading is not None and found.reading.plan.attention == "eager"
    assert any("gemma2" in line for line in found.reading.assumptions)
    less = gib(found, "activations") - gib(flash, "activations")
    assert less == pytest.approx(12 * 16 * 8192**2 / GIB, rel=0.1)


def test_flash_attention_is_offered_where_there_is_no_other(tmp_path: Path) -> None:
    text = TRL.format(model="google/gemma-2-9b", batch=1, length=8192, more=LORA)
    here = world(tmp_path, {"train.yaml": text}, gpus=["A100-40GB x1"], releases=[NEW])
    offered = {name: value for one in remedies(here, answer(here, "A100-40GB x1")) for name, value in one.facts.items()}
    assert offered["model.attn_implementation"] == "flash_attention_2"


def test_a_framework_with_attention_of_its_own_keeps_no_scores(tmp_path: Path) -> None:
    text = LLAMAFACTORY.replace("Qwen/Qwen2.5-7B-Instruct", "google/gemma-2-9b").replace("qwen", "gemma")
    found = told(tmp_path, text, releases=("llamafactory==0.9.3",))
    assert found.reading is not None and found.reading.plan.attention != "eager"


@pytest.mark.parametrize(("release", "rows", "tokens"), [("trl==0.18.2", 4, 1024), ("trl==0.19.0", 1, 4096)])
def test_packed_rows_become_one_from_trl_0_19_on(release: str, rows: int, tokens: int, tmp_path: Path) -> None:
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=4, length=1024, more="packing: true\n" + LORA)
    found = told(tmp_path, text, releases=(release,))
    assert found.reading is not None
    assert (found.reading.plan.rows, found.reading.plan.length.high) == (rows, tokens)


def test_one_mask_serves_all_blocks_before_transformers_4_53(tmp_path: Path) -> None:
    """Two bytes of the square of a row: 28 times, of which the older release has one beside the activations."""
    text = TRL.format(model="Qwen/Qwen2.5-7B", batch=2, length=2048, more=LORA).replace(
        "gradient_checkpointing: true", "gradient_checkpointing: false"
    )
    older, later = (told(tmp_path, text, releases=(OLD, f"transformers=={one}")) for one in ("4.52.4", "4.53.3"))
    assert gib(older, "attention") == 0.0
    assert gib(later, "attention") == pytest.approx(28 * 2 * 2 * 2048**2 / GIB, rel=0.01)


FSDP = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n"
    "  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_reshard_after_forward: true\n"
)


def test_fsdp_gathers_in_half_precision_and_autocast_copies_nothing(tmp_path: Path) -> None:
    """Sixteen bytes a parameter over eight cards, and two blocks with embedding and head in half precision."""
    text = TRL.format(model="meta-llama/Llama-3.1-8B", batch=1, length=4096, more="packing: true\n").replace(
        "dtype: bfloat16\n", ""
    )
    files = {
        "run.sh": "accelerate launch --config_file acc.yaml -m trl.scripts.sft --config train.yaml\n", "acc.yaml": FSDP, "train.yaml": text,
    }  # fmt: skip
    found = answer(
        world(tmp_path, files, gpus=["A100-80GB x8"], releases=[NEW, "transformers==5.23.0"]), "A100-80GB x8"
    )
    assert found.estimate is not None
    assert all("copies" not in parts or parts["copies"] == 0 for parts in found.estimate.parts.values())
    share = 8_030_261_248 / 8 / GIB
    assert gib(found, "weights") == pytest.approx(4 * share, rel=0.001)
    assert gib(found, "gathered") == pytest.approx((2 * 2 * 218_112_000 + 2 * 2 * 128256 * 4096) / GIB, rel=0.01)
    step = found.estimate.parts[MOMENTS[5]]
    assert "gathered" not in step and step["gradients"] == pytest.approx(4 * share * GIB, rel=0.001)


def test_what_stands_beside_a_layer_lies_on_the_layers_card(tmp_path: Path) -> None:
    """80 layers over 7 cards: 12 on the fullest, with the inputs of 12 blocks and 12 layers' part of the adapter."""
    text = TRL.format(
        model="Qwen/Qwen2-72B-Instruct", batch=2, length=2048, more="packing: true\nload_in_4bit: true\n" + LORA
    )
    text += "model_init_kwargs:\n  device_map: auto\n"
    files = {
        "run.sh": "accelerate launch --num_processes 1 -m trl.scripts.sft --config train.yaml\n",
        "train.yaml": text,
    }
    seven, one = (
        answer(world(tmp_path / name, files, gpus=[name], releases=["trl==0.18.2"]), name)
        for name in ("RTX 3090 x7", "H200 x1")
    )
    assert seven.reading is not None and seven.reading.plan.sharding.engine == "split"
    assert gib(seven, "adapters") == pytest.approx(gib(one, "adapters") * 12 / 80, rel=0.001)
    kept = [found.estimate.parts[MOMENTS[0]]["activations"] for found in (seven, one) if found.estimate is not None]
    assert kept[0] == pytest.approx(kept[1] * 12 / 80, rel=0.001)


def test_a_tower_that_is_frozen_keeps_nothing_for_its_backward_pass(tmp_path: Path) -> None:
    text = (
        "swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --dataset d.jsonl --tuner_type lora --torch_dtype bfloat16 --max_length 4096 "
        "--per_device_train_batch_size 1 --learning_rate 1e-4 --output_dir out {more}\n"
    )
    ends = []
    for number, more in enumerate(("", "--freeze_vit true", "--freeze_vit false")):
        files = {"run.sh": text.format(more=more)}
        found = answer(
            world(tmp_path / str(number), files, gpus=["A100-80GB"], releases=["ms-swift==4.5.2"]), "A100-80GB"
        )
        assert found.estimate is not None
        ends.append(found.estimate.needed / GIB)
    assert ends[0] == ends[1]
    kept = 34 * 32 * 4 * 4096 * 1280 / GIB  # bytes a patch and width, blocks, patches
    assert ends[2] - ends[0] == pytest.approx(kept, rel=0.02)


LAID = (
    "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import LoraConfig, get_peft_model\nimport torch\n"
    'net = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-70B", dtype=torch.bfloat16, device_map={map})\n'
    'net = get_peft_model(net, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))\n'
    'args = TrainingArguments("out", per_device_train_batch_size=1, bf16=True, gradient_checkpointing=True, learning_rate=1e-4)\n'
    "Trainer(model=net, args=args, train_dataset=None).train()\n"
)


@pytest.mark.parametrize(("where", "cards"), [('"auto"', 2), ('{"": 0}', 1)])
def test_a_program_that_lays_its_layers_over_the_cards_is_one_process(where: str, cards: int, tmp_path: Path) -> None:
    """A map that names one card divides nothing."""
    found = answer(world(tmp_path, {"train.py": LAID.replace("{map}", where)}, gpus=["A100-80GB x2"]), "A100-80GB x2")
    assert found.reading is not None
    assert (found.verdict == "does-not-fit") is (cards == 1)
    assert gib(found, "weights") == pytest.approx(70_553_706_496 * 2 / cards / GIB, rel=0.001)
    assert ("`device_map`" in " ".join(found.reading.assumptions)) is (cards == 2)


AXOLOTL = (
    "base_model: NousResearch/Meta-Llama-3-8B\nload_in_4bit: true\nadapter: qlora\nlora_r: 32\nlora_alpha: 16\nlora_target_linear: true\n"
    "sequence_len: 8192\nsample_packing: true\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\noptimizer: adamw_torch\nlearning_rate: 2.0e-4\n"
    "bf16: true\nflash_attention: true\ngradient_checkpointing: true\ndatasets: [{path: a/b, type: alpaca}]\noutput_dir: out\nnum_epochs: 1\n"
)


def test_axolotls_pieces_of_the_loss_are_pieces_of_whole_logits(tmp_path: Path) -> None:
    whole = told(tmp_path, AXOLOTL, "RTX 4090", ("axolotl==0.19.0",))
    pieces = told(tmp_path, AXOLOTL + "chunked_cross_entropy: true\n", "RTX 4090", ("axolotl==0.19.0",))
    words = 2 * 8192 * 128256 / GIB
    assert gib(whole, "logits") == pytest.approx(12 * words, rel=0.02)
    assert gib(pieces, "logits") == pytest.approx(6.5 * words, rel=0.3)


@pytest.mark.parametrize(("more", "offered"), [("", True), ("plugins: [my.Plugin]\n", False)])
def test_axolotl_is_offered_the_fused_loss_of_a_plugin(more: str, offered: bool, tmp_path: Path) -> None:
    """Not where plugins are named already: what is stated is not written over."""
    here = world(tmp_path, {"train.yaml": AXOLOTL + more}, gpus=["RTX 4090"], releases=["axolotl==0.19.0"])
    found = [one for one in remedies(here, answer(here, "RTX 4090")) if "training.plugins" in one.facts]
    assert bool(found) is offered
    assert all(one.verdict == "fits" for one in found)


def test_liger_builds_whole_logits_where_it_evaluates(tmp_path: Path) -> None:
    """8 rows of 2,048 tokens and 152,064 words are 2.5 billion logits, of 10 bytes and more."""
    text = LLAMAFACTORY.replace("cutoff_len: 8192", "cutoff_len: 2048").replace("size: 4", "size: 1") + (
        "enable_liger_kernel: true\nval_size: 0.1\neval_strategy: steps\neval_steps: 200\nper_device_eval_batch_size: 8\n"
    )
    found = told(tmp_path, text, "A100-80GB x1")
    assert found.estimate is not None and found.estimate.moment == "evaluation"
    assert gib(found, "logits") == pytest.approx(8 * 2048 * 152064 * 10 / 2**30, rel=0.1)
