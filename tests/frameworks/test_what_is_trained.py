"""Which weights are trained, where the program or its switches decide it: never "every weight" by presumption."""

from __future__ import annotations

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, rules, world

PROGRAM = """import sys
from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class ModelArguments:
    model_name_or_path: str = field(default=None)
    rank: int = field(default=8)
    dropout: float = field(default=0.1)
parser = HfArgumentParser((ModelArguments, TrainingArguments))
{parse}
model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
{more}
Trainer(model=model, args=args, train_dataset=rows).train()
"""
PLAIN = "model_args, args = parser.parse_args_into_dataclasses()"
IDIOM = """if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
    model_args, args = parser.parse_json_file(json_file=sys.argv[1])
elif sys.argv[-1].endswith(".yaml"):
    model_args, args = parser.parse_yaml_file(sys.argv[-1])
else:
    model_args, args = parser.parse_args_into_dataclasses()"""
COMMAND = "torchrun train.py --model_name_or_path Qwen/Qwen2.5-7B --learning_rate 1e-3 --bf16 True --output_dir o --num_train_epochs 1 {}\n"
ADAPTER = "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig(r=model_args.rank, lora_dropout=model_args.dropout))"


@pytest.mark.parametrize("parse", [PLAIN, IDIOM])
@pytest.mark.parametrize("flag", ["", "--rank 64"])
def test_transformers_own_parse_idiom_loses_nothing(tmp_path, parse, flag):
    files = {"run.sh": COMMAND.format(flag), "train.py": PROGRAM.format(parse=parse, more=ADAPTER)}
    run = world(tmp_path, files)
    assert run.value("model.name_or_path") == "Qwen/Qwen2.5-7B"
    assert (run.value("lora.r"), run.value("lora.lora_dropout")) == (64 if flag else 8, 0.1)
    assert (run.value("training.learning_rate"), run.value("derived.method")) == (1e-3, "lora")


def test_what_is_stored_after_either_branch_is_not_known(tmp_path):
    more = "if x:\n    args.weight_decay = 0.3\n" + ADAPTER
    source = PROGRAM.format(parse=IDIOM, more=more).replace(
        "parser =", "@dataclass\nclass A(TrainingArguments):\n    weight_decay: float = 0.1\nparser ="
    )
    source = source.replace("(ModelArguments, TrainingArguments)", "(ModelArguments, A)")
    assert is_unknown(world(tmp_path, {"train.py": source}).value("training.weight_decay"))


FREEZES = {
    "for n, p in model.named_parameters():\n    p.requires_grad = 'classifier' in n": True,
    "model.model.requires_grad_(False)": True,
    "model.model.embed_tokens.weight.requires_grad = False": True,
    "for p in model.parameters():\n    p.requires_grad = True": False,
    "model.requires_grad_(True)": False,
    "ref_model.requires_grad_(False)": False,
    "model.load_adapter('a/b')": True,
    "": False,
}


@pytest.mark.parametrize("more", FREEZES)
def test_a_program_that_freezes_trains_not_every_weight(tmp_path, more):
    found = inspected(tmp_path, {"run.sh": COMMAND.format(""), "train.py": PROGRAM.format(parse=PLAIN, more=more)})
    (run,) = found.runs
    from stablint.hazard.checked import Checked

    assert Checked(run).newest.value("derived.method") == ("unknown" if FREEZES[more] else "full")
    assert bool(rules(found) & {"lr-high-for-full"}) is not FREEZES[more] or not rules(found, "error")


# Switches of somebody's own program, and whether every weight may still be presumed to be trained.
SWITCHES = [
    ("--tune_language_model False", False),
    ("--tune_vision_tower True", False),
    ("--mm_tunable_parts mm_mlp_adapter", False),
    ("--freeze_vision_tower True", False),
    ("--freeze_vision_tower False", True),
    ("--tune_type_llm frozen --tune_type_connector full", False),
    ("--llm_train_mode freeze", False),
    (
        "--vision_tower a/clip --image_folder i --mm_vision_select_layer -2 --model_max_length 2048 --tune_type_llm frozen",
        False,
    ),
    ("--vision_tower a/clip --image_folder i --mm_vision_select_layer -2 --model_max_length 2048", True),
    ("--lora_enabled true --qlora_enabled true", False),
    ("--qlora_enabled false", True),
    ("--peft_path a/b", False),
    ("--weight_decay 0.1", True),
]


@pytest.mark.parametrize(("flags", "presumed"), SWITCHES)
def test_switches_of_a_program_s_own_leave_it_open(tmp_path, flags, presumed):
    assert (world(tmp_path, {"run.sh": COMMAND.format(flags)}).value("derived.method") == "full") is presumed


OWN_TRAINER = """from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser, get_peft_config
class Own(GRPOTrainer):
    def __init__(self, model, peft_config=None, **kwargs):
        peft_config.target_modules = layers(model)
        super().__init__(model, peft_config=peft_config, **kwargs)
args, model_args = TrlParser((GRPOConfig, ModelConfig)).parse_args_and_config()
Own(model=model_args.model_name_or_path, args=args, peft_config=get_peft_config(model_args)).train()
"""


@pytest.mark.parametrize(("trainer", "known"), [("Own", False), ("GRPOTrainer", True)])
def test_a_trainer_of_the_program_s_own_may_choose_the_targets(tmp_path, trainer, known):
    flags = "--use_peft true --lora_r 8 --model_name_or_path Qwen/Qwen2.5-VL-7B-Instruct --num_generations 8 --learning_rate 1e-5 --output_dir o"
    files = {"run.sh": f"torchrun train.py {flags}\n", "train.py": OWN_TRAINER.replace("\nOwn(", f"\n{trainer}(")}
    found = inspected(tmp_path, files)
    assert bool({d.code for d in found.report.diagnostics} & {"A104"}) is known


@pytest.mark.parametrize(
    ("program", "known"),
    [
        ("train_dpo.py", False),
        ("rl/ppo_train.py", False),
        ("run_reward.py", False),
        ("train.py", True),
        ("forms/warm.py", True),
    ],
)
def test_a_program_s_name_leaves_the_objective_open(tmp_path, program, known):
    run = world(tmp_path, {"run.sh": COMMAND.format("").replace("train.py", program)})
    assert (run.value("derived.objective") == "sft") is known


MEMBERS = [
    (
        "PromptEncoderConfig(num_virtual_tokens=8, encoder_reparameterization_type=P.MLP)",
        "lora.encoder_reparameterization_type",
        "MLP",
    ),
    ("PromptTuningConfig(num_virtual_tokens=8, prompt_tuning_init=I.TEXT)", "lora.prompt_tuning_init", "TEXT"),
]


@pytest.mark.parametrize(("call", "name", "value"), MEMBERS)
def test_members_of_peft_s_enumerations_have_their_values(tmp_path, call, name, value):
    head = "from peft import PromptEncoderConfig, PromptTuningConfig, PromptTuningInit as I, PromptEncoderReparameterizationType as P\n"
    assert world(tmp_path, {"train.py": head + call + "\n"}).value(name) == value


def test_a_keyword_beside_the_config_object_is_no_part_of_it(tmp_path):
    source = (
        "from transformers import AutoModelForCausalLM as M, BitsAndBytesConfig as B\n"
        "M.from_pretrained('a/b', quantization_config=B(load_in_4bit=True), load_in_8bit=True)\n"
    )
    found = inspected(tmp_path, {"train.py": source})
    assert not {d.code for d in found.report.diagnostics} & {"Q106"}


HEADS = [
    ("AutoModelForSequenceClassification", "", False),
    ("BertForTokenClassification", "", False),
    (
        "AutoModelForCausalLM",
        "from peft import LoraConfig, get_peft_model\nm = get_peft_model(m, LoraConfig(task_type='SEQ_CLS'))\n",
        False,
    ),
    (
        "AutoModelForCausalLM",
        "from peft import LoraConfig, get_peft_model\nm = get_peft_model(m, LoraConfig(task_type='CAUSAL_LM'))\n",
        True,
    ),
    ("AutoModelForCausalLM", "", True),
]


@pytest.mark.parametrize(("loader", "adapter", "tunes"), HEADS)
def test_a_head_that_classifies_is_no_supervised_fine_tuning_of_a_language_model(tmp_path, loader, adapter, tunes):
    source = (
        f"from transformers import {loader}, Trainer, TrainingArguments\nm = {loader}.from_pretrained('a/b')\n{adapter}"
    )
    source += "Trainer(model=m, args=TrainingArguments('o', learning_rate=1e-4)).train()\n"
    run = world(tmp_path, {"train.py": source})
    assert (run.value("derived.objective") == "sft") is tunes


PAD = """
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
{before}
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="o"), train_dataset=rows, processing_class=tokenizer)
trainer.train()
{after}
"""


@pytest.mark.parametrize(("before", "after", "expected"), [("SET", "", True), ("", "SET", False), ("SET", "SET", True)])
def test_what_is_set_after_training_is_for_generation(before, after, expected, tmp_path):
    source = PAD.format(before=before, after=after).replace("SET", "tokenizer.pad_token = tokenizer.eos_token")
    assert world(tmp_path, {"train.py": source}).is_stated("tokenizer.pad_token") is expected


OWN = "output_dir: out\nlearning_rate: 1.0e-4\nper_device_train_batch_size: 1\nnum_train_epochs: 1\nuse_lora: true\nlora_r: 16\nlora_alpha: 32\n"


@pytest.mark.parametrize(
    ("said", "method"),
    [
        ("", "lora"),
        ("use_qlora: true\n", "qlora"),
        ("use_4bit: true\n", "qlora"),
        ("use_4bit: false\n", "lora"),
        ("load_in_4bit: true\n", "qlora"),
    ],
)
def test_a_programs_own_switch_of_four_bits_is_read(said, method, tmp_path):
    assert world(tmp_path, {"train.yaml": OWN + said}).value("derived.method") == method


def test_four_bits_of_a_section_of_ones_own_are_read(tmp_path):
    text = (
        "model:\n  name_or_path: a/b\nqlora:\n  load_in_4bit: true\n  lora_r: 32\n  lora_alpha: 64\n"
        "training:\n  learning_rate: 1.0e-5\n  num_epochs: 1\n  batch_size: 4\n  gradient_accumulation_steps: 2\n"
    )
    assert world(tmp_path, {"ppo.yaml": text}).value("derived.method") == "qlora"


SECTIONED = """model:
  name: a/b
lora:
  r: 16
  lora_alpha: 32
training:
  learning_rate: 1.0e-4
  num_train_epochs: 1
  per_device_train_batch_size: 1
  gradient_accumulation_steps: 4
  output_dir: out
"""


@pytest.mark.parametrize(
    ("said", "method"),
    [
        ("", "lora"),
        ("quantization:\n  bits: 4\n  quant_type: nf4\n", "qlora"),
        ("bnb:\n  bits: 4\n", "qlora"),
        ("quantization:\n  enabled: true\n  bits: 4\n", "qlora"),
        ("quantization:\n  enabled: false\n  bits: 4\n", "lora"),
        ("quantization:\n  bits: 16\n", "lora"),
        ("audio:\n  bits: 4\n", "lora"),
    ],
)
def test_bits_of_a_section_about_quantisation_are_read(said, method, tmp_path):
    assert world(tmp_path, {"train.yaml": SECTIONED + said}).value("derived.method") == method


LAUNCHED = (
    "torchrun train.py --model_name_or_path a/b --max_seq_length 512 --learning_rate 1e-4 --bf16 --output_dir out\n"
)
READER = """from transformers import AutoModelForCausalLM, HfArgumentParser, {trainer}TrainingArguments
{more}
class Own:
    model_name_or_path: str = None
    max_seq_length: int = 512
own, args = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained(own.model_name_or_path)
{made}
Trainer(model=model, args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("trainer", "more", "made", "framework", "method"),
    [
        ("Trainer, ", "", "", "transformers", "full"),
        ("Trainer, ", "from peft import LoraConfig, get_peft_model", "model = get_peft_model(model, LoraConfig(r=8))", "transformers", "lora"),
        ("", "from trl import SFTTrainer as Trainer", "", "trl", "full"),
    ],
)  # fmt: skip
def test_a_program_without_trl_is_none_of_trls(trainer, more, made, framework, method, tmp_path):
    source = READER.format(trainer=trainer, more=more, made=made)
    run = world(tmp_path, {"run.sh": LAUNCHED, "train.py": source})
    assert (run.value("derived.framework"), run.value("derived.method")) == (framework, method)


@pytest.mark.parametrize(
    ("fsdp", "axolotl", "sharded"),
    [
        ("fsdp_config:\n  offload_params: false\n", "0.12.2", True),
        ("fsdp_config:\n  offload_params: false\n", "0.8.0", False),
        ("", "0.12.2", False),
    ],
)
def test_axolotls_settings_of_fsdp_switch_it_on_from_0_12(fsdp, axolotl, sharded, tmp_path):
    text = f"base_model: a/b\ndatasets:\n  - path: x\n    type: alpaca\nmicro_batch_size: 1\nnum_epochs: 1\nlearning_rate: 1.0e-5\n{fsdp}"
    run = world(tmp_path, {"train.yml": text}, releases=[f"axolotl=={axolotl}"])
    assert run.value("derived.fsdp") is sharded


@pytest.mark.parametrize(
    "files",
    [
        {
            "run.sh": "rate=...\ntorchrun train.py --model_name_or_path a/b --learning_rate $rate --bf16 True --output_dir out\n"
        },
        {
            "train.yaml": "model_name_or_path: a/b\noutput_dir: out\nlearning_rate: ???\nbf16: true\nnum_train_epochs: 1\n"
        },
    ],
    ids=str,
)
def test_what_somebody_fills_in_is_not_known(files, tmp_path):
    assert is_unknown(world(tmp_path, files).value("training.learning_rate"))


OWN_METHOD = """model_name: roberta-base
METHOD
max_seq_length: 128
lora_r: 8
lora_alpha: 16
target_modules: [query, value]
training:
  output_dir: outputs
  per_device_train_batch_size: 16
  learning_rate: 0.0002
  num_train_epochs: 3
  fp16: true
"""


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("method_name: ia3", False),
        ("peft_method: P-Tuning", False),
        ("adapter_type: AdaLoRA", False),
        ("method_name: lora", True),
        ("method_name: ours", True),  # a word that is none of PEFT's
        ("project_name: ia3", True),
    ],
)
def test_settings_of_lora_beside_another_method_make_no_lora(tmp_path, said, known):
    method = world(tmp_path, {"c.yaml": OWN_METHOD.replace("METHOD", said)}).value("derived.method")
    assert (method == "lora") is known
    assert is_unknown(method) is not known


WORKER = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForTokenClassification
from BASE import Worker
class CriticWorker(Worker):
    def build(self, config):
        critic = AutoModelForTokenClassification.from_pretrained(config.path, torch_dtype="bfloat16")
        return get_peft_model(critic, LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=16))
"""


@pytest.mark.parametrize(
    ("base", "more", "runs"),
    [
        ("verl.single_controller.base", "", 0),
        ("ours.base", "", 1),
        ("verl.single_controller.base", "from trl import SFTConfig, SFTTrainer\nSFTTrainer('m', SFTConfig('o')).train()\n", 1),
    ],
)  # fmt: skip
def test_a_worker_of_verl_is_no_run(tmp_path, base, more, runs):
    assert bool(inspected(tmp_path, {"workers.py": WORKER.replace("BASE", base) + more}).runs) is bool(runs)


BY_CASE = """import argparse
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
parser = argparse.ArgumentParser()
parser.add_argument("--target", default="toy")
args = parser.parse_args()
def build():
    LOADED
    model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16))
    return torch.optim.AdamW(model.parameters(), lr=1e-4)
OUTSIDE
if args.target == "toy":
    optimizer = None
else:
    optimizer = build()
loss.backward()
optimizer.step()
"""


@pytest.mark.parametrize(("here", "method"), [(True, "lora"), (False, "full")])
def test_a_branch_that_loads_the_model_decides_of_the_model_and_not_of_its_adapter(tmp_path, here, method):
    loads = 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")'
    lines = ("LOADED", "OUTSIDE") if here else ("OUTSIDE", "LOADED")
    source = BY_CASE.replace(lines[0], loads).replace(lines[1], "pass" if here else "global model")
    assert world(tmp_path, {"train.py": source}).value("derived.method") == method


STEPS = """import torch
from transformers import AutoModelForCausalLM
from ours import loss_of
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
optimizer = MADE
for batch in batches:
    loss_of(model, batch)
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "rate"),
    [("torch.optim.AdamW(model.parameters(), lr=1e-5)", 1e-5), ("ours.optimizer(model, lr=1e-5)", None)],
)
def test_the_step_of_an_optimizer_tells_of_a_loop_whose_gradients_another_file_computes(tmp_path, made, rate):
    run = world(tmp_path, {"train.py": STEPS.replace("MADE", made)})
    assert (run.value("derived.trainer") == "torch") is bool(rate)
    if rate:
        assert run.value("training.learning_rate") == rate


QUANTISED = """import fire
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, PeftModel, get_peft_model
def train(adapter: str = "out"):
    model = AutoModelForCausalLM.from_pretrained("a/b"{bits})
    if adapter:
        model = PeftModel.from_pretrained(model, adapter, is_trainable=True)
    else:
        model = get_peft_model(model, LoraConfig(r=8))
    Trainer(model, args=TrainingArguments("o", learning_rate=1e-4), train_dataset=rows).train()
fire.Fire(train)
"""
FOUR = ", quantization_config=BitsAndBytesConfig(load_in_4bit=True)"


@pytest.mark.parametrize(("bits", "method"), [(FOUR, "unknown"), ("", "full")])
def test_what_a_default_leaves_to_another_branch_is_an_adapter_as_well(bits, method, tmp_path):
    found = world(tmp_path, {"train.py": QUANTISED.format(bits=bits)})
    assert found.value("derived.method") == method


@pytest.mark.parametrize(("words", "told"), [("", False), (" data.train_batch_size=8", True)])
def test_an_entry_point_is_told_the_rest_where_it_is_started(words, told, tmp_path):
    found = inspected(tmp_path, {"run.sh": "python3 -m verl.trainer.main_ppo" + words + "\n"})
    assert ("verl-critic-micro-batch-missing" in rules(found)) is told
