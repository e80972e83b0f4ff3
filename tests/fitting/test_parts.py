"""What one card holds where the work or the weights are divided, where nothing can divide them, and where a model sees pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.fitting import alike
from stablint.fitting.answer import Told, answer, decides
from stablint.memory.predict import MOMENTS
from tests.runs import world

GIB = 2**30
TRL = (
    "model_name_or_path: {model}\ndataset_name: org/data\noutput_dir: out\nlearning_rate: 1.0e-5\nbf16: true\ndtype: bfloat16\npacking: true\n"
    "per_device_train_batch_size: 1\ngradient_accumulation_steps: 1\nmax_length: 4096\ngradient_checkpointing: true\noptim: adamw_torch\n{more}"
)
NEMO = (
    "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler: {{global_batch_size: 32, local_batch_size: 1, num_epochs: 1}}\n"
    "model: {{_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path: meta-llama/Llama-3.1-8B, torch_dtype: bf16}}\n"
    "distributed: {{strategy: fsdp2, tp_size: {tp}, cp_size: {cp}, pp_size: {pp}}}\noptimizer: {{_target_: torch.optim.AdamW, lr: 1.0e-5}}\n"
)
ACCELERATE = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
    "fsdp_config: {{fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_reshard_after_forward: true}}\n"
    "parallelism_config: {{parallelism_config_dp_shard_size: {shards}, parallelism_config_tp_size: {tp}, parallelism_config_cp_size: {cp}}}\n"
)


def told(folder: Path, files: dict[str, str], gpu: str = "A100-80GB x8") -> Told:
    return answer(world(folder, files, gpus=[gpu], releases=["trl==0.24.0"]), gpu)


def launched(tp: int, cp: int, shards: int) -> dict[str, str]:
    return {
        "go.sh": "accelerate launch --config_file acc.yaml -m trl.scripts.sft --config train.yaml\n",
        "acc.yaml": ACCELERATE.format(tp=tp, cp=cp, shards=shards),
        "train.yaml": TRL.format(model="Qwen/Qwen2.5-7B", more=""),
    }


def most(one: Told, component: str) -> float:
    """GiB at the moment that has the most of it."""
    assert one.estimate is not None
    return max(parts.get(component, 0.0) for parts in one.estimate.parts.values()) / GIB


def test_sequences_over_two_cards_halve_the_logits(tmp_path: Path) -> None:
    whole, halves = (told(tmp_path, launched(1, cp, 8 // cp)) for cp in (1, 2))
    assert most(halves, "logits") == pytest.approx(most(whole, "logits") / 2, rel=0.01)


def test_matrices_over_two_cards_leave_logits_whole_unless_the_head_is_divided(tmp_path: Path) -> None:
    whole, halves = (told(tmp_path, launched(tp, 1, 8 // tp)) for tp in (1, 2))
    assert most(halves, "logits") == pytest.approx(most(whole, "logits"), rel=0.01)
    assert halves.peak[0] < whole.peak[0]
    assert halves.reading is not None and halves.reading.plan.sharding.processes == 4


# Sizes of NeMo AutoModel's `distributed`, and cards over which FSDP divides the rest; 0 where it is not counted.
NEMO_SIZES = [((1, 1, 1), 8), ((2, 1, 1), 4), ((4, 2, 1), 2), ((1, 1, 2), 0)]


@pytest.mark.parametrize(("sizes", "shards"), NEMO_SIZES)
def test_nemo_shards_what_is_left(tmp_path: Path, sizes: tuple[int, int, int], shards: int) -> None:
    tp, cp, pp = sizes
    text = NEMO.format(tp=tp, cp=cp, pp=pp) + "dataset: {_target_: a.B}\n"
    one = answer(world(tmp_path, {"train.yaml": text}, gpus=["A100-80GB x8"], sets=["training.max_length=4096"]), "")
    if not shards:
        assert one.reading is None and "pipeline_parallel_size" in one.why
        return
    assert one.reading is not None and one.reading.plan.sharding.weights == shards
    assert one.reading.plan.length.high == 4096 / cp


# The adapter's bytes, as shares of a whole one: FSDP divides them, ZeRO-3 what is large enough.
ENGINES = [("fsdp: full_shard auto_wrap\n", 1 / 8), ("", 1.0)]


@pytest.mark.parametrize(("engine", "share"), ENGINES)
def test_an_adapter_is_divided_by_fsdp(tmp_path: Path, engine: str, share: float) -> None:
    lora = "use_peft: true\nlora_r: 16\nlora_target_modules: all-linear\n"
    files = {
        "go.sh": "torchrun --nproc_per_node 8 -m trl.scripts.sft --config train.yaml\n",
        "train.yaml": TRL.format(model="Qwen/Qwen2.5-7B", more=lora + engine),
    }
    one = told(tmp_path, files)
    assert one.reading is not None
    assert most(one, "adapters") == pytest.approx(4 * one.reading.plan.trained * share / GIB, rel=0.01)


def test_packed_weights_are_whole_on_every_card(tmp_path: Path) -> None:
    """GPTQ keeps them in buffers, and engines divide parameters: 70B in four bits are 34 GiB on each of eight cards."""
    lora = "use_peft: true\nlora_r: 16\nlora_target_modules: all-linear\nfsdp: full_shard auto_wrap\n"
    for model, least, highest in (
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", 33, 36),
        ("Qwen/Qwen2.5-72B-Instruct", 16, 18),
    ):
        files = {
            "go.sh": "torchrun --nproc_per_node 8 -m trl.scripts.sft --config train.yaml\n",
            "train.yaml": TRL.format(model=model, more=lora),
        }
        assert least < most(told(tmp_path, files), "weights") < highest


# Models that see, and the parameters of the language model in them (transformers' configurations: those of the text models).
SEEING = [
    ("Qwen/Qwen2-VL-2B-Instruct", 1543714304), ("Qwen/Qwen2-VL-7B-Instruct", 7615616512), ("Qwen/Qwen2.5-VL-3B-Instruct", 3085938688),
    ("Qwen/Qwen2.5-VL-72B-Instruct", 72706203648), ("Qwen/Qwen3-VL-8B-Instruct", 8190735360),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text"), SEEING)
def test_a_model_that_sees_has_the_language_model_of_its_family(tmp_path: Path, model: str, text: int) -> None:
    more = "use_peft: true\nlora_r: 16\nlora_target_modules: [q_proj, v_proj]\n"
    one = told(tmp_path, {"train.yaml": TRL.format(model=model, more=more)}, "A100-80GB x1")
    assert one.reading is not None and one.estimate is not None
    assert one.reading.plan.shape.parameters == pytest.approx(text, rel=0.001)
    assert 0.3e9 < one.reading.plan.tower < 0.8e9
    low, usual, high = one.reading.plan.pictures
    assert low == 0 < usual < high


def test_a_llama_of_old_releases_builds_its_scores(tmp_path: Path) -> None:
    """Before transformers 4.36 there was one attention. 32 blocks, 32 heads, 2,048 squared: 8.6 GiB of half-precision scores alone, and softmax in float32."""
    text = TRL.format(
        model="lmsys/vicuna-7b-v1.5", more="use_peft: true\nlora_r: 8\nlora_target_modules: [q_proj, v_proj]\n"
    )
    text = text.replace("checkpointing: true", "checkpointing: false").replace("4096", "2048")
    found = []
    for release in ("transformers==4.31.0", "transformers==4.45.2"):
        one = answer(world(tmp_path, {"train.yaml": text}, gpus=["A100-80GB"], releases=[release]), "")
        assert one.estimate is not None
        found.append(one.estimate.components.get("attention", 0.0) / GIB)
    assert found[0] > 20 > 1 > found[1]


def test_unused_blocks_are_given_back_before_memory_runs_out(tmp_path: Path) -> None:
    """On a card that is too small the figure is what the run needs, on a large one what it would show."""
    text = TRL.format(model="Qwen/Qwen2.5-7B", more="use_peft: true\nlora_r: 8\n").replace("packing: true\n", "")
    small, large = (told(tmp_path, {"train.yaml": text}, gpu) for gpu in ("RTX 4090 x1", "B200 x1"))
    assert small.peak[1] < large.peak[1] and small.peak[2] < large.peak[2]
    assert small.peak[0] == large.peak[0]
    assert small.estimate is not None and small.peak[2] <= max(small.usable or 0, small.estimate.needed / GIB) + 0.01


# Releases, and bytes a logit of the rows that are compared, usual and at the high end: two rows of 1,024 tokens.
COMPARED = [("trl==0.11.4", 18, 18), ("trl==0.24.0", 12, 12)]


@pytest.mark.parametrize(("release", "usual", "high"), COMPARED)
def test_logits_of_a_pair_lie_beside_those_of_the_reference(
    tmp_path: Path, release: str, usual: int, high: int
) -> None:
    text = (
        "from trl import DPOConfig, DPOTrainer\nfrom peft import LoraConfig\nfrom transformers import AutoModelForCausalLM\nimport torch\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16)\n'
        'args = DPOConfig(output_dir="out", per_device_train_batch_size=1, max_length=1024, bf16=True, gradient_checkpointing=True, learning_rate=1e-5)\n'
        'DPOTrainer(model=model, args=args, train_dataset=data, peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"])).train()\n'
    )
    one = answer(world(tmp_path, {"train.py": text}, gpus=["A100-80GB"], releases=[release]), "")
    assert most(one, "logits") == pytest.approx(2 * 1024 * 152064 * usual / GIB, rel=0.02)
    assert one.estimate is not None and one.reading is not None
    assert one.reading.plan.compared.high in (0, high)


def test_a_model_of_which_only_its_size_is_known_is_taken_for_those_of_its_size(tmp_path: Path) -> None:
    """Its own dimensions lie within, and it is said to be a guess; a name without a size says nothing."""
    lora = "use_peft: true\nlora_r: 16\nlora_target_modules: all-linear\n"
    known, guessed, nothing = (
        told(tmp_path, {"train.yaml": TRL.format(model=model, more=lora)}, "A100-80GB x1")
        for model in ("Qwen/Qwen2.5-7B", "someone/Anything-7.6B", "someone/Anything")
    )
    low, usual, high = guessed.peak
    assert low < known.peak[1] < high and low < usual < high
    assert guessed.reading is not None and guessed.reading.is_guessed and len(guessed.reading.others) == 2
    assert nothing.reading is None and "--model" in nothing.why


DENSE = [row for row in alike._published(False) if row["parameters"] > 3e8]


def test_dimensions_of_published_models_lie_between_those_of_the_others_of_their_size(monkeypatch) -> None:
    """Each model left out in turn."""
    inside = []
    for row in DENSE:
        rest = [one for one in DENSE if one["parameters"] != row["parameters"]]
        monkeypatch.setattr(alike, "_published", lambda experts, rest=rest: rest)
        _, low, high = (one.shape for one in alike.alike(row["parameters"], False, {}))
        for name in ("hidden", "layers", "vocab"):
            inside.append(getattr(low, name) <= row[name] <= getattr(high, name))
    assert sum(inside) / len(inside) >= 0.85


def test_a_number_of_parameters_that_a_name_rounds_is_a_range() -> None:
    usual, low, high = (one.shape.parameters for one in alike.alike(7_000_000_000, False, {}))
    assert (low, usual, high) == (6_300_000_000, 7_000_000_000, 7_700_000_000)
    assert {one.shape.parameters for one in alike.alike(7_615_616_512, False, {})} == {7_615_616_512}


def test_a_method_that_nobody_states_is_anything_from_an_adapter_to_all_weights(tmp_path: Path) -> None:
    script = (
        "torchrun --nproc_per_node=1 qwenvl/train/train_qwen.py --model_name_or_path Qwen/Qwen2.5-VL-7B-Instruct --dataset_use video --data_flatten True "
        "--tune_mm_llm True --bf16 --output_dir out --per_device_train_batch_size 1 --learning_rate 1e-5 --model_max_length 4096\n"
    )
    one = told(tmp_path, {"train.sh": script}, "A100-80GB x1")
    low, usual, _ = one.peak
    assert low < 8 and usual > 60
    assert one.reading is not None and one.reading.is_guessed and one.verdict == "tight"


# Whose code attends: transformers' own kernels, or what lies in the model's repository; and what the file chooses.
ATTENDING = [
    ("Qwen/Qwen2.5-7B", "", False),
    ("THUDM/chatglm3-6b", "", True),
    ("THUDM/chatglm3-6b", "attn_implementation: flash_attention_2\n", False),
]


@pytest.mark.parametrize(("model", "more", "own"), ATTENDING)
def test_attention_of_a_models_own_code_may_keep_its_scores(tmp_path: Path, model: str, more: str, own: bool) -> None:
    lora = "use_peft: true\nlora_r: 16\nlora_target_modules: all-linear\n"
    one = told(tmp_path, {"train.yaml": TRL.format(model=model, more=lora + more)}, "A100-80GB x1")
    assert one.reading is not None
    assert any(plan.attention == "eager" for plan in one.reading.others) is own
    assert one.reading.plan.attention != "eager"


@pytest.mark.parametrize(("pixels", "tokens"), [("", 16384), ("MAX_PIXELS=602112 ", 768)])
def test_pictures_come_on_top_of_rows_that_were_cut_before(tmp_path: Path, pixels: str, tokens: int) -> None:
    text = "swift sft --model_type qwen2-vl-7b-instruct --model_id_or_path Qwen/Qwen2-VL-7B-Instruct --sft_type lora --dataset d --max_length 1024\n"
    one = told(tmp_path, {"go.sh": pixels + text}, "A100-80GB x1")
    assert one.reading is not None and one.reading.plan.length.high == 1024 + tokens


def test_a_gradient_is_whole_until_it_is_divided(tmp_path: Path) -> None:
    """Of the head under ZeRO-3, with a temporary of torch's own Adam in the step; DeepSpeed's own takes none."""
    ds = '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3}%s}'
    steps = []
    for more in ("", ', "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}'):
        files = {
            "go.sh": "deepspeed --num_gpus 8 -m trl.scripts.sft --config train.yaml\n", "ds.json": ds % more,
            "train.yaml": TRL.format(model="Qwen/Qwen2.5-7B", more="deepspeed: ds.json\n"),
        }  # fmt: skip
        one = told(tmp_path, files)
        assert one.estimate is not None and one.reading is not None
        shape = one.reading.plan.shape
        head = 2 * shape.vocab * shape.hidden
        assert one.estimate.parts[MOMENTS[1]]["gradients"] == pytest.approx(head + head / 8, rel=0.01)
        steps.append(one.estimate.parts[MOMENTS[5]]["step"])
    assert steps == [pytest.approx(8 * shape.parameters / 8), pytest.approx(4 * shape.parameters / 8)]


MEGATRON = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-14B --train_type {method} --dataset d --micro_batch_size 1 --max_length 4096 {more}\n"
# Flags, and over how many cards weights and states are divided, of eight.
DIVIDED = [("", 1, 8), ("--pipeline_model_parallel_size 2", 2, 8), ("--tensor_model_parallel_size 4", 1, 2)]


@pytest.mark.parametrize(("more", "weights", "states"), DIVIDED)
def test_megatron_divides_its_states_over_the_copies(tmp_path: Path, more: str, weights: int, states: int) -> None:
    """Weights of 2 bytes, gradients of 4, and 12 of states that the copies share (megatron/core, DistributedOptimizer)."""
    one = told(tmp_path, {"go.sh": MEGATRON.format(method="full", more=more)})
    assert one.reading is not None and one.reading.plan.sharding.engine == "megatron"
    plan = one.reading.plan
    assert (plan.sharding.weights, plan.sharding.states) == (weights, states)
    ways = plan.tensor
    assert most(one, "optimizer") == pytest.approx(12 * plan.shape.parameters / ways / states / GIB, rel=0.01)


def test_a_batch_that_nobody_states_is_one_row_or_eight(tmp_path: Path) -> None:
    script = "python finetune/lora.py --checkpoint_dir checkpoints/meta-llama/Llama-2-7b-hf --data_dir data --out_dir out --precision bf16-true\n"
    one = told(tmp_path, {"go.sh": script}, "RTX 3090 x1")
    assert one.reading is not None and one.reading.is_guessed and one.verdict == "tight"
    assert {plan.rows for plan in (one.reading.plan, *one.reading.others)} == {1, 8}


@pytest.mark.parametrize(
    ("launcher", "collected"), [("python3", 2), ("torchrun --nproc_per_node 2", 0), ("accelerate launch", 0)]
)
def test_one_process_beside_two_cards_collects_the_logits_of_both(
    tmp_path: Path, launcher: str, collected: int
) -> None:
    script = (
        f"{launcher} src/train_bash.py --stage sft --do_train --model_name_or_path Qwen/Qwen1.5-14B-Chat --dataset d --template qwen --finetuning_type lora "
        "--lora_target q_proj,v_proj --output_dir out --per_device_train_batch_size 1 --learning_rate 2e-4 --cutoff_len 6000 --fp16\n"
    )
    one = told(tmp_path, {"go.sh": script}, "A100-80GB x2")
    assert one.reading is not None and one.reading.plan.sharding.collected == collected


def test_a_guess_wants_more_room_to_fit(tmp_path: Path) -> None:
    """Of 62 GiB at the most 79 are enough where the model is known, and not where it is taken for others of its size."""
    lora = "use_peft: true\nlora_r: 16\nlora_target_modules: all-linear\n"
    verdicts = []
    for model in ("Qwen/Qwen2.5-32B", "someone/Anything-32.763876B"):
        text = TRL.format(model=model, more=lora).replace("4096", "512")
        one = told(tmp_path, {"train.yaml": text}, "A100-80GB x1")
        assert one.estimate is not None and 0.75 * 79 < one.estimate.needed / GIB < 0.95 * 79
        verdicts.append((one.verdict, decides(one)))
    assert verdicts[0][0] == "fits" and verdicts[1][0] == "tight" and "assumed" in verdicts[1][1]


# What the file says of the rank, and what is counted.
RANKS = [("", 16), ("lora_r: 4\n", 4)]


@pytest.mark.parametrize(("more", "rank"), RANKS)
def test_a_rank_that_nobody_states_is_the_trainers_own(tmp_path: Path, more: str, rank: int) -> None:
    lora = "use_peft: true\nlora_target_modules: [q_proj, o_proj]\n" + more
    files = {"train.yaml": TRL.format(model="Qwen/Qwen2.5-7B", more=lora), "go.sh": "trl sft --config train.yaml\n"}
    one = told(tmp_path, files, "A100-80GB x1")
    assert one.reading is not None and one.reading.plan.rank == rank
    assert one.reading.plan.trained == 28 * 2 * rank * (3584 + 3584)


def test_quantised_experts_may_have_no_adapter_of_their_own(tmp_path: Path) -> None:
    """Of gpt-oss-120B in four bits Unsloth printed 67.8 GiB at the most, and 59.3 before the first step."""
    lora = "use_peft: true\nlora_r: 16\nlora_target_modules: all-linear\nload_in_4bit: true\n"
    text = TRL.format(model="openai/gpt-oss-120b", more=lora).replace("4096", "64")
    one = told(tmp_path, {"train.yaml": text}, "A100-80GB x1")
    assert one.reading is not None and 55 < one.peak[0] < 67.8
    trained = {plan.trained for plan in (one.reading.plan, *one.reading.others)}
    assert min(trained) * 20 < max(trained)
