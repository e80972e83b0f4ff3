"""Runs whose model answers before it learns: the engine's share of the card, what sleeps, and what is not stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.fitting.answer import Told, answer
from stablint.memory.predict import MOMENTS
from tests.runs import world

GIB = 2**30
CARD = "A100-80GB"
ROOM = 79.3
TRL = (
    "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset_name: org/data\noutput_dir: out\nlearning_rate: 1.0e-6\nbf16: true\ndtype: bfloat16\n"
    "per_device_train_batch_size: 4\ngradient_accumulation_steps: 4\nnum_generations: 8\nmax_completion_length: 1024\nmax_prompt_length: 512\n"
    "gradient_checkpointing: true\nuse_peft: true\nlora_r: 16\n{more}"
)
COLOCATED = "use_vllm: true\nvllm_mode: colocate\nvllm_gpu_memory_utilization: 0.3\n"
VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator={kind} data.train_files=x data.train_batch_size=256 data.max_prompt_length=512 "
    "data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.optim.lr=1e-6 "
    "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.model.enable_gradient_checkpointing=True actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.6 actor_rollout_ref.rollout.tensor_model_parallel_size=2 trainer.n_gpus_per_node=8 "
    "trainer.nnodes=1{more}\n"
)
UNSLOTH = (
    "from unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\n"
    'model, tokenizer = FastLanguageModel.from_pretrained(model_name="Qwen/Qwen2.5-3B-Instruct", max_seq_length=1024, load_in_4bit=True, '
    "fast_inference=True, max_lora_rank=64, gpu_memory_utilization=0.5)\n"
    'model = FastLanguageModel.get_peft_model(model, r=64, target_modules=["q_proj", "v_proj"], use_gradient_checkpointing="unsloth")\n'
    "args = GRPOConfig(use_vllm=True, learning_rate=5e-6, per_device_train_batch_size=8, gradient_accumulation_steps=1, num_generations=8,\n"
    '                  max_prompt_length=256, max_completion_length=200, max_steps=250, bf16=True, output_dir="out")\n'
    "GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=[score], args=args, train_dataset=rows).train()\n"
)


def trl(folder: Path, more: str, release: str = "trl==0.24.0", gpu: str = CARD) -> Told:
    texts = {"grpo.yaml": TRL.format(more=more), "run.sh": "trl grpo --config grpo.yaml\n"}
    return answer(world(folder, texts, gpus=[gpu] if gpu else [], releases=[release]), gpu)


def verl(folder: Path, more: str = "", kind: str = "grpo") -> Told:
    card = f"{CARD} x8"
    return answer(world(folder, {"run.sh": VERL.format(kind=kind, more=more)}, gpus=[card]), card)


def part(told: Told, moment: str, name: str) -> float:
    assert told.estimate is not None, told.why
    return told.estimate.parts[moment].get(name, 0.0) / GIB


def test_the_engine_keeps_its_share_of_the_whole_card_while_weights_are_trained(tmp_path: Path) -> None:
    found = trl(tmp_path, COLOCATED)
    for moment in MOMENTS[:6]:
        assert part(found, moment, "rollout") == pytest.approx(0.3 * ROOM, abs=0.5)
    assert found.peak[0] >= 0.3 * ROOM  # early engines count the trainer's weights into their share
    assert found.peak[1] > 0.3 * ROOM + 14.2 + 5  # the share, the weights, and the logits of four answers at least


def test_what_sleeps_gives_its_share_back_until_the_next_answers(tmp_path: Path) -> None:
    found = trl(tmp_path, COLOCATED + "vllm_enable_sleep_mode: true\n")
    assert part(found, MOMENTS[1], "rollout") == pytest.approx(1.0, abs=0.01)
    assert part(found, MOMENTS[7], "rollout") == pytest.approx(0.3 * ROOM, abs=0.5)
    assert part(found, MOMENTS[7], "weights") > 14 and part(found, MOMENTS[7], "logits") == 0


@pytest.mark.parametrize("more", ["use_vllm: true\nvllm_mode: server\n", "use_vllm: true\n"])
def test_an_engine_elsewhere_takes_nothing_here(tmp_path: Path, more: str) -> None:
    found = trl(tmp_path, more)
    assert found.estimate is not None and MOMENTS[7] not in found.estimate.parts
    assert part(found, MOMENTS[1], "rollout") == 0


def test_from_trl_1_on_the_engine_is_beside_the_trainer_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    assert part(trl(tmp_path, "use_vllm: true\n", "trl==1.16.0"), MOMENTS[1], "rollout") > 20


def test_without_an_engine_keys_and_values_of_all_answers_of_a_round_are_kept(tmp_path: Path) -> None:
    each = 2 * 2 * 28 * 512  # keys and values of two bytes, 28 layers, four heads of 128
    assert part(trl(tmp_path, ""), MOMENTS[7], "rollout") == pytest.approx(each * 16 * 1536 / GIB, rel=0.01)
    fewer = trl(tmp_path, "steps_per_generation: 2\n")
    assert part(fewer, MOMENTS[7], "rollout") == pytest.approx(each * 8 * 1536 / GIB, rel=0.01)


def test_only_answers_have_logits(tmp_path: Path) -> None:
    whole = 4 * 1536 * 152064 * 12 / GIB
    assert part(trl(tmp_path, COLOCATED), MOMENTS[1], "logits") == pytest.approx(whole * 1024 / 1536, rel=0.05)


@pytest.mark.parametrize(("beta", "there"), [("0.04", True), ("0.0", False)])
def test_a_copy_is_kept_where_answers_are_held_against_it(tmp_path: Path, beta: str, there: bool) -> None:
    text = TRL.format(more=f"beta: {beta}\n").replace("use_peft: true\nlora_r: 16\n", "")
    texts = {"grpo.yaml": text, "run.sh": "trl grpo --config grpo.yaml\n"}
    found = answer(world(tmp_path, texts, gpus=["H200"], releases=["trl==0.24.0"]), "H200")
    assert (part(found, MOMENTS[1], "reference") > 14) is there


def test_verl_shares_weights_and_states_out_and_its_engine_sleeps(tmp_path: Path) -> None:
    found = verl(tmp_path)
    assert part(found, MOMENTS[1], "weights") == pytest.approx(7615616512 * 4 / 8 / GIB, rel=0.01)
    assert part(found, MOMENTS[1], "rollout") == pytest.approx(1.0, abs=0.01)
    assert part(found, MOMENTS[7], "rollout") == pytest.approx(0.6 * ROOM, abs=0.5)
    assert part(found, MOMENTS[7], "optimizer") > 7
    awake = verl(tmp_path, " actor_rollout_ref.rollout.free_cache_engine=False")
    assert part(awake, MOMENTS[1], "rollout") == pytest.approx(0.6 * ROOM, abs=0.5)


def test_what_verl_parks_in_the_hosts_memory_is_not_beside_the_engine(tmp_path: Path) -> None:
    more = " actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True"
    found = verl(tmp_path, more)
    assert part(found, MOMENTS[7], "weights") == part(found, MOMENTS[7], "optimizer") == 0
    assert part(found, MOMENTS[5], "optimizer") > 7


def test_unsloth_counts_the_weights_that_both_use_once(tmp_path: Path) -> None:
    found = answer(world(tmp_path, {"train.py": UNSLOTH}, gpus=["T4"], releases=["trl==0.22.2"]), "T4")
    both = part(found, MOMENTS[1], "weights") + part(found, MOMENTS[1], "rollout")
    assert both == pytest.approx(0.5 * 14.7, rel=0.1)


# What is asked, and the reason why nothing can be said.
UNSAID = [
    (lambda folder: trl(folder, COLOCATED, gpu=""), "the card"),
    (lambda folder: trl(folder, COLOCATED.replace("0.3", "1.5")), "the share of the engine"),
    (lambda folder: trl(folder, COLOCATED.replace("vllm_gpu", "max_completion_length: null\nvllm_gpu")), "the longest answer"),
    (lambda folder: verl(folder, kind="gae"), "models that judge the answers"),
    (lambda folder: verl(folder, " actor_rollout_ref.actor.strategy=megatron"), "megatron"),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "why"), UNSAID)
def test_what_is_not_stated_is_not_guessed(tmp_path: Path, ask, why: str) -> None:
    found = ask(tmp_path)
    assert found.estimate is None and why in found.why


def test_the_copy_of_a_release_that_nobody_states_is_counted_at_the_high_end(tmp_path: Path) -> None:
    """TRL's `beta` was 0.04 before 0.19."""
    sizes = []
    for more in ("", "beta: 0.0\n"):
        text = TRL.format(more=more).replace("use_peft: true\nlora_r: 16\n", "")
        texts = {"grpo.yaml": text, "run.sh": "trl grpo --config grpo.yaml\n"}
        sizes.append(answer(world(tmp_path, texts, gpus=["H200"], releases=["trl>=0.17"]), "H200").peak[2])
    assert sizes[0] - sizes[1] == pytest.approx(7615616512 * 2 / GIB, rel=0.1)


def test_verls_supervised_trainer_divides_float32_weights(tmp_path: Path) -> None:
    """verl 0.4.1 trainer/config/sft_trainer.yaml: model_dtype fp32, FSDP without a choice."""
    text = (
        "torchrun --nproc_per_node=2 -m verl.trainer.fsdp_sft_trainer data.train_files=x data.micro_batch_size_per_gpu=1 data.max_length=2048 "
        "model.partial_pretrain=Qwen/Qwen2.5-7B-Instruct{more}\n"
    )
    for more, width in (("", 4), (" model.fsdp_config.model_dtype=bf16", 2)):
        found = answer(world(tmp_path, {"run.sh": text.format(more=more)}, gpus=["A100-80GB x2"]), "A100-80GB x2")
        assert found.reading is not None and found.reading.plan.sharding.engine == "fsdp"
        assert found.reading.plan.weights == {4: "float32", 2: "bfloat16"}[width]


PPO = (
    "{start} --pretrain meta-llama/Meta-Llama-3-8B --reward_pretrain org/reward --save_path out --micro_train_batch_size 2 --train_batch_size 128 "
    "--micro_rollout_batch_size 4 --rollout_batch_size 1024 --max_epochs 1 --prompt_max_len 1024 --generate_max_len 1024 --zero_stage {stage} --bf16 "
    "--actor_learning_rate 5e-7 --prompt_data org/data --gradient_checkpointing --flash_attn{more}\n"
)
PROCESSES = "deepspeed --module openrlhf.cli.train_ppo"


def ppo(folder: Path, start: str = PROCESSES, stage: int = 2, more: str = " --adam_offload") -> Told:
    card = f"{CARD} x8"
    return answer(world(folder, {"run.sh": PPO.format(start=start, stage=stage, more=more)}, gpus=[card]), card)


def test_openrlhf_keeps_four_models_in_each_process(tmp_path: Path) -> None:
    told = ppo(tmp_path)
    weights = part(told, MOMENTS[1], "weights")
    assert part(told, MOMENTS[1], "reference") == weights
    # One that gives rewards, one that is trained to give values: its states are in the host's memory.
    assert part(told, MOMENTS[1], "judges") == pytest.approx(2 * weights)


def test_the_states_of_values_are_there_where_nothing_is_offloaded(tmp_path: Path) -> None:
    told = ppo(tmp_path, more="")
    states, weights = part(told, MOMENTS[1], "optimizer"), part(told, MOMENTS[1], "weights")
    assert part(told, MOMENTS[1], "judges") == pytest.approx(2 * weights + states + weights / 8)  # and their gradients


def test_shards_divide_the_judges(tmp_path: Path) -> None:
    whole, shared = (part(ppo(tmp_path / str(stage), stage=stage), MOMENTS[1], "judges") for stage in (2, 3))
    assert shared == pytest.approx(whole / 8)


def test_an_adapter_is_its_own_reference_in_ppo(tmp_path: Path) -> None:
    told = ppo(tmp_path, more=" --lora_rank 16")
    assert part(told, MOMENTS[1], "reference") == 0.0 < part(told, MOMENTS[1], "judges")


def test_under_ray_the_judges_may_have_cards_of_their_own(tmp_path: Path) -> None:
    told = ppo(tmp_path, start="python3 -m openrlhf.cli.train_ppo_ray")
    assert told.estimate is None and "cards of their own" in told.why


OLD_PPO = (
    "from trl import AutoModelForCausalLMWithValueHead, PPOConfig, PPOTrainer\n"
    'config = PPOConfig(model_name="Qwen/Qwen2.5-1.5B", learning_rate=1.4e-5, batch_size=16, mini_batch_size=4)\n'
    "model = AutoModelForCausalLMWithValueHead.from_pretrained(config.model_name)\n"
    "trainer = PPOTrainer(config, model, None, tokenizer, dataset=rows)\n"
    "for batch in trainer.dataloader:\n    answers = trainer.generate(batch, max_new_tokens=64)\n    trainer.step(batch, answers, scores)\n"
)
NEW_PPO = (
    "from transformers import AutoModelForCausalLM\nfrom trl import PPOConfig, PPOTrainer\n"
    'args = PPOConfig(output_dir="out", per_device_train_batch_size=4, gradient_accumulation_steps=4, response_length=128, bf16=True)\n'
    'policy = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-1.5B")\n'
    "PPOTrainer(args=args, processing_class=tok, model=policy, ref_model=ref, value_model=value, reward_model=reward, train_dataset=rows).train()\n"
)


def test_a_head_gives_the_values_in_the_older_trainer_of_trl(tmp_path: Path) -> None:
    told = answer(world(tmp_path, {"train.py": OLD_PPO}, gpus=[CARD]), CARD)
    assert (
        part(told, MOMENTS[1], "reference")
        == part(told, MOMENTS[1], "weights")
        > 0.0
        == part(told, MOMENTS[1], "judges")
    )
    assert told.reading is not None and told.reading.plan.rows == 4  # `mini_batch_size`


def test_values_and_answers_are_learned_in_one_pass_of_the_newer_trainer(tmp_path: Path) -> None:
    told = answer(world(tmp_path, {"train.py": NEW_PPO}, gpus=[CARD]), CARD)
    weights, states = (part(told, MOMENTS[1], name) for name in ("weights", "optimizer"))
    assert part(told, MOMENTS[1], "judges") > 2 * weights + states
    assert told.reading is not None and told.reading.plan.activations.usual == 2.0


@pytest.mark.parametrize(
    ("more", "both"),
    [("", True), (" --gradient_checkpointing True", False), (" --gradient_checkpointing False", False)],
)
def test_a_program_that_was_not_read_may_have_another_trainer(tmp_path: Path, more: str, both: bool) -> None:
    text = (
        "torchrun --nproc_per_node 2 mine.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir out --learning_rate 1e-5 --max_length 1024 "
        f"--per_device_train_batch_size 1 --bf16 True{more}\n"
    )
    told = answer(world(tmp_path, {"go.sh": text}, gpus=[f"{CARD} x2"]), f"{CARD} x2")
    assert told.reading is not None
    kept = {one.checkpointed for one in (told.reading.plan, *told.reading.others)}
    assert (len(kept) == 2) is both


def test_a_file_that_is_one_of_two_kinds_of_answering_is_no_supervised_one(tmp_path: Path) -> None:
    """No command says whether GRPO or RLOO reads it: both have the keys."""
    text = TRL.format(more="beta: 0.001\n").replace("use_peft: true\nlora_r: 16\n", "")
    told = answer(world(tmp_path / "own", {"grpo.yaml": text}, gpus=[CARD]), CARD)
    assert told.reading is not None and any("one of grpo, rloo" in one for one in told.reading.assumptions)
    assert part(told, MOMENTS[1], "reference") == part(told, MOMENTS[1], "weights") > 0.0
    with_engine = answer(world(tmp_path / "vllm", {"grpo.yaml": f"{text}use_vllm: true\n"}, gpus=[CARD]), CARD)
    assert with_engine.estimate is None and "vllm_gpu_memory_utilization" in with_engine.why


def test_vllm_loads_its_weights_whatever_its_share_is(tmp_path: Path) -> None:
    """0.3 of 23.7 GiB are less than the 14.2 of a 7B model in half precision, beside which the trainer's own lie."""
    found = answer(
        world(
            tmp_path,
            {"grpo.yaml": TRL.format(more=COLOCATED), "go.sh": "trl grpo --config grpo.yaml\n"},
            gpus=["RTX 4090"],
        ),
        "RTX 4090",
    )
    assert found.verdict == "does-not-fit" and part(found, MOMENTS[1], "rollout") > 14
    assert found.reading is not None and any("does not start" in one for one in found.reading.assumptions)
