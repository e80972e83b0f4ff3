"""Python programs → runs: which calls belong together, what the caller decides, what depends on the GPU."""

from __future__ import annotations

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, rules, runs, world

HEAD = """\
import torch
from transformers import AutoModelForCausalLM as M, BitsAndBytesConfig as B, Trainer, TrainingArguments as A
from peft import LoraConfig, get_peft_model
"""


def facts(tmp_path, source: str, *names: str, **said) -> list[object]:
    found = world(tmp_path, {"train.py": source}, **said)
    values = [found.value(name) for name in names]
    return ["?" if is_unknown(value) else value for value in values]


# A program, a fact, and its value; "?" for what must stay unknown.
FACTS = [
    ("args = A('out', learning_rate=1e-4)\n", "training.output_dir", "out"),
    ("args = A('out')\nargs.max_steps = 7\n", "training.max_steps", 7),
    ("args = A('out')\nsetattr(args, 'max_steps', 7)\n", "training.max_steps", 7),
    ("args = A('out', lr_scheduler_kwargs={'a': 1})\nargs.lr_scheduler_kwargs['min_lr'] = 1e-6\n", "training.lr_scheduler_kwargs", "?"),
    ("args = A('out')\nargs.report_to.append('wandb')\n", "training.report_to", "?"),
    # what the constructor alone reads counts no more behind it
    ("args = A('out')\nargs.bf16 = True\n", "training.bf16", "?"),
    ("args = A('out', deepspeed='a.json')\nargs.deepspeed = 'b.json'\n", "training.deepspeed", "a.json"),
    ("args = A('out')\nargs.deepspeed = 'b.json'\n", "launch.late.deepspeed", "b.json"),
    ("args = A('out')\nargs.bf16 = True\nargs.__post_init__()\n", "training.bf16", True),
    ("import dataclasses\nargs = dataclasses.replace(A('out'), bf16=True)\nTrainer(None, args)\n", "training.bf16", True),
    ("import dataclasses\na = A('out', seed=1)\nargs = dataclasses.replace(a, seed=2)\nTrainer(None, args)\n", "training.seed", 2),
    ("c = {'seed': 1}\nc['seed'] = 3\nA('out', **c)\n", "training.seed", 3),
    ("A('out', deepspeed={'zero_optimization': {'stage': 3}})\n", "deepspeed.zero_optimization.stage", 3),
    ("import deepspeed\nA('out')\ndeepspeed.initialize(config={'bf16': {'enabled': True}})\n", "deepspeed.bf16.enabled", True),
    ("import os\nos.environ['NCCL_P2P_DISABLE'] = '1'\nA('out')\n", "launch.env.NCCL_P2P_DISABLE", "1"),
    ("import os\nif x:\n  os.environ['A'] = '1'\nA('out')\n", "launch.env.A", "?"),
    ("from peft import TaskType\nA('out')\nLoraConfig(task_type=TaskType.CAUSAL_LM)\n", "lora.task_type", "CAUSAL_LM"),
    ("m = M.from_pretrained('a/b')\nt = Trainer(m, A('out'))\nn = M.from_pretrained('c/d')\n", "model.name_or_path", "a/b"),
    ("from trl import SFTTrainer, SFTConfig\nSFTTrainer('a/b', SFTConfig('out'))\nn = M.from_pretrained('c/d')\n", "model.name_or_path", "a/b"),
    (
        "from trl import DPOTrainer, DPOConfig\nm = M.from_pretrained('a/b')\n"
        "r = M.from_pretrained('c/d')\nDPOTrainer(m, r, DPOConfig('out'))\n",
        "model.name_or_path", "a/b",
    ),
    (
        "if x:\n  m = M.from_pretrained('a/b', load_in_4bit=True)\nelse:\n"
        "  m = M.from_pretrained('a/b')\nTrainer(m, A('out'))\n",
        "quantization.load_in_4bit", "?",
    ),
    (
        "if x:\n  m = M.from_pretrained('a/b', load_in_4bit=True)\nelse:\n"
        "  m = M.from_pretrained('a/b')\nTrainer(m, A('out'))\n",
        "model.name_or_path", "a/b",
    ),
    ("m = M.from_pretrained('a/b')\nm = get_peft_model(m, LoraConfig(r=4))\nother = LoraConfig(r=8)\nTrainer(model=m, args=A('out'))\n", "lora.r", 4),
    ("from trl import SFTTrainer, SFTConfig\nSFTTrainer('Qwen/Qwen3-0.6B', SFTConfig('out'))\n", "model.name_or_path", "Qwen/Qwen3-0.6B"),
    ("from transformers import IntervalStrategy as I\nA('out', save_strategy=I.STEPS)\n", "training.save_strategy", "steps"),
    ("def main(seed=3, r=None):\n  A('out', seed=seed)\n  LoraConfig(r=r)\nimport fire\nfire.Fire(main)\n", "training.seed", 3),
    ("def main(seed=3, r=None):\n  A('out', seed=seed)\n  LoraConfig(r=r)\nimport fire\nfire.Fire(main)\n", "lora.r", "?"),
    ("if x:\n  m = M.from_pretrained('a/b', quantization_config=B(load_in_4bit=True))\nelse:\n  m = M.from_pretrained('a/b')\nTrainer(m, A('out'))\n",
     "quantization.load_in_4bit", "?"),
    ("def load(name):\n  return M.from_pretrained(name)\nm = load('a/b')\nTrainer(m, A('out'))\n", "model.name_or_path", "a/b"),
    # what is made of the weights when they are loaded
    ("m = M.from_pretrained('a/b').half()\nTrainer(m, A('out'))\n", "model.dtype", "float16"),
    ("m = M.from_pretrained('a/b').half().cuda()\nm = get_peft_model(m, LoraConfig(r=4))\nTrainer(m, A('out'))\n", "model.dtype", "float16"),
    ("m = M.from_pretrained('a/b')\nm.to(torch.bfloat16)\nTrainer(m, A('out'))\n", "model.dtype", "bfloat16"),
    ("m = M.from_pretrained('a/b')\nm = m.to('cuda', dtype=torch.bfloat16)\nTrainer(m, A('out'))\n", "model.dtype", "bfloat16"),
    ("m = M.from_pretrained('a/b', torch_dtype=torch.float16).float()\nTrainer(m, A('out'))\n", "model.dtype", "float32"),
    ("m = M.from_pretrained('a/b')\nm = get_peft_model(m, LoraConfig(r=4))\nm.half()\nTrainer(m, A('out'))\n", "model.dtype", "float16"),
    ("m = M.from_pretrained('a/b', torch_dtype=torch.bfloat16).to('cuda')\nTrainer(m, A('out'))\n", "model.dtype", "bfloat16"),
    ("m = M.from_pretrained('a/b')\nif x:\n  m.half()\nTrainer(m, A('out'))\n", "model.dtype", "?"),
    ("m = M.from_pretrained('a/b')\nm = m.to(dtype)\nTrainer(m, A('out'))\n", "model.dtype", "?"),
    ("m = M.from_pretrained('a/b', torch_dtype=torch.bfloat16)\nref = M.from_pretrained('a/b').half()\nTrainer(m, A('out'))\n", "model.dtype",
     "bfloat16"),
    ("m = M.from_pretrained('a/b', torch_dtype=torch.bfloat16)\nt = Trainer(m, A('out'))\nt.train()\nm.half()\n", "model.dtype", "bfloat16"),
    # a dict that is spread into the arguments
    ("kw = dict(learning_rate=1e-5)\nif x:\n  kw['max_steps'] = 3\nTrainer(m, A('out', **kw))\n", "training.learning_rate", 1e-5),
    ("kw = dict(learning_rate=1e-5)\nif x:\n  kw['max_steps'] = 3\nTrainer(m, A('out', **kw))\n", "training.max_steps", "?"),
    ("kw = dict(learning_rate=1e-5)\nkw.update(vars(x))\nTrainer(m, A('out', **kw))\n", "training.learning_rate", "?"),
    # classes that a function fills from the command line
    ("from tyro import cli\nclass S:\n  lr: float = 1e-4\ns = cli(S)\nTrainer(m, A('out', learning_rate=s.lr))\n", "training.learning_rate", 1e-4),
    ("from datargs import parse\nclass S:\n  lr: float = 1e-4\ndef main(s):\n  Trainer(m, A('out', learning_rate=s.lr))\na = parse(S)\nmain(a)\n",
     "training.learning_rate", 1e-4),
    ("from simple_parsing import parse\nclass S:\n  lr: float\ns = parse(config_class=S)\nTrainer(m, A('out', learning_rate=s.lr))\n",
     "training.learning_rate", "?"),
    ("sharded = False\nif sharded == True:\n  a = A('out', fsdp='full_shard')\nelse:\n  a = A('out', fsdp='')\nTrainer(m, a)\n", "training.fsdp", ""),
]  # fmt: skip


@pytest.mark.parametrize(("source", "name", "expected"), FACTS)
def test_facts(tmp_path, source, name, expected):
    assert facts(tmp_path, HEAD + source, name) == [expected]


def test_a_branch_that_makes_the_adapter_is_presumed(tmp_path):
    source = "m = M.from_pretrained('a/b')\nif x:\n  m = get_peft_model(m, LoraConfig(r=4))\nTrainer(m, A('out'))\n"
    (run,) = runs(tmp_path, {"train.py": HEAD + source})
    assert run.explicit["lora.r"].presumed


def test_other_packages_load_by_their_own_rules(tmp_path):
    source = "from ipex_llm.transformers import AutoModel\nm = AutoModel.from_pretrained('a/b', load_in_4bit=True)\n"
    assert not runs(tmp_path, {"infer.py": source})
    assert runs(tmp_path, {"infer.py": source.replace("ipex_llm.", "")})


def test_a_quantiser_is_made_where_the_caller_switches_it_on(tmp_path):
    source = "p = argparse.ArgumentParser()\np.add_argument('--bits', type=int, default=16)\nargs = p.parse_args()\n"
    source += "if args.bits == 4:\n    q = B(load_in_4bit=args.bits == 4, bnb_4bit_quant_type='nf4')\n"
    source += "    m = M.from_pretrained('a/b', quantization_config=q)\n"
    assert "?" in facts(tmp_path, "import argparse\n" + HEAD + source, "quantization.load_in_4bit")


BF16 = "from unsloth import is_bfloat16_supported as ok\nA('out', bf16=ok(), fp16=not ok())\n"


@pytest.mark.parametrize(
    ("gpus", "expected"), [((), ["?", "?"]), (["A100-80GB"], [True, False]), (["T4"], [False, True])]
)
def test_what_depends_on_the_gpu(tmp_path, gpus, expected):
    assert facts(tmp_path, HEAD + BF16, "training.bf16", "training.fp16", gpus=gpus) == expected


def test_torchs_own_question_is_only_sure_of_a_yes(tmp_path):
    source = (
        HEAD
        + "d = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16\nA('out')\nB(bnb_4bit_compute_dtype=d)\n"
    )
    name = "quantization.bnb_4bit_compute_dtype"
    assert facts(tmp_path, source, name, gpus=["A100-80GB"]) == ["bfloat16"]
    assert facts(tmp_path, source, name, gpus=["T4"]) == ["?"]


ARGPARSE = HEAD + (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default='1e-4')\np.add_argument('--fp16', action='store_true')\n"
    "args = p.parse_args()\nTrainer(None, A('out', learning_rate=args.lr, fp16=args.fp16))\n"
)


def test_defaults_of_a_parser_are_presumed(tmp_path):
    (run,) = runs(tmp_path, {"train.py": ARGPARSE})
    fact = run.explicit["training.learning_rate"]
    assert (fact.value, fact.presumed) == (1e-4, True)
    assert run.explicit["training.fp16"].value is False


def test_a_command_that_starts_the_program_sets_them(tmp_path):
    files = {"train.py": ARGPARSE, "run.sh": "python train.py --lr 3e-5\n"}
    (run,) = runs(tmp_path, files)
    fact = run.explicit["training.learning_rate"]
    assert (fact.value, fact.presumed, run.explicit["training.fp16"].presumed) == (3e-5, False, True)
    assert fact.origin.place.document.text.name == "run.sh"


DATACLASSES = (
    "import transformers\nfrom dataclasses import dataclass, field\nfrom transformers import HfArgumentParser, Trainer\n"
    "@dataclass\nclass ModelArguments:\n  model_name_or_path: str = field(default='a/b')\n  lora_r: int = 8\n"
    "@dataclass\nclass TrainingArguments(transformers.TrainingArguments):\n  optim: str = field(default='adamw_torch')\n  use_lora: bool = True\n"
    "parser = HfArgumentParser((ModelArguments, TrainingArguments))\nmodel_args, training_args = parser.parse_args_into_dataclasses()\n"
    "training_args.extra = 1\n"
    "from peft import LoraConfig\nTrainer(model=x, args=training_args, peft_config=LoraConfig(r=model_args.lora_r))\n"
)


def test_dataclasses_that_a_parser_fills(tmp_path):
    (run,) = runs(tmp_path, {"train.py": DATACLASSES})
    assert run.explicit["training.optim"].value == "adamw_torch" and run.explicit["training.optim"].presumed
    assert run.explicit["lora.r"].value == 8 and run.explicit["lora.r"].presumed
    assert run.scopes["training"] == "open"
    assert not {"training.use_lora", "training.extra"} & set(run.explicit)


def test_a_class_of_ones_own_may_have_more_fields(tmp_path):
    source = "import transformers\nclass Mine(transformers.TrainingArguments):\n  more: int = 1\nTrainer = 1\nargs = Mine('out', more=2, seed=3)\n"
    (run,) = runs(tmp_path, {"train.py": source})
    assert run.explicit["training.seed"].value == 3 and "training.more" not in run.explicit


def test_two_trainers_are_two_runs(tmp_path):
    source = HEAD + (
        "a = M.from_pretrained('a/b')\nt = Trainer(a, A('one', seed=1))\n"
        "b = M.from_pretrained('c/d')\nu = Trainer(b, A('two', seed=2))\n"
    )
    found = {
        run.explicit["training.seed"].value: run.explicit["model.name_or_path"].value
        for run in runs(tmp_path, {"train.py": source})
    }
    assert found == {1: "a/b", 2: "c/d"}


def parser(*options: str) -> str:
    return "import argparse\np = argparse.ArgumentParser()\n" + "".join(f"p.add_argument('{one}')\n" for one in options)


@pytest.mark.parametrize(
    ("source", "status"),
    [
        (parser("--learning_rate", "--lora_r", "--batch_size"), "checked"),
        (parser("--lr", "--epochs", "--batch-size"), "skipped"),
        ("from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('a')\n", "skipped"),
        ("import rasa\nrasa.Trainer(max_epochs=1)\n", "skipped"),
    ],
)
def test_recognition(tmp_path, source, status):
    (found,) = inspected(tmp_path, {"x.py": source}).report.files
    assert found.status == status


POSITIONAL = [
    ("BitsAndBytesConfig(False, True)", "quantization.load_in_4bit", True),
    ("GPTQConfig(4)", "quantization.bits", 4),
    ('FastLanguageModel.from_pretrained("Qwen/Qwen2-7B", 2048, None, True)', "quantization.load_in_4bit", True),
    ('FastLanguageModel.from_pretrained("Qwen/Qwen2-7B", 2048)', "model.name_or_path", "Qwen/Qwen2-7B"),
    ('FastLanguageModel.get_peft_model(m, 16, ["q_proj"], 64)', "lora.lora_alpha", 64),
    ("prepare_model_for_kbit_training(m, False)", "training.gradient_checkpointing", False),
    ('TrainingArguments("o")', "training.output_dir", "o"),
]
_HEAD = """\
from transformers import BitsAndBytesConfig, GPTQConfig, TrainingArguments
from peft import prepare_model_for_kbit_training
from unsloth import FastLanguageModel
"""


@pytest.mark.parametrize(("call", "name", "value"), POSITIONAL)
def test_arguments_that_are_given_by_their_place(tmp_path, call, name, value):
    (run,) = runs(tmp_path, {"train.py": f"{_HEAD}m = load()\nargs = TrainingArguments(output_dir='o')\nx = {call}\n"})[
        :1
    ]
    assert run.explicit[name].value == value


@pytest.mark.parametrize("call", ['LoraConfig("CAUSAL_LM")', "LoraConfig(*given)", "LoraConfig(**given)"])
def test_an_adapter_with_arguments_of_unknown_names_has_no_known_defaults(tmp_path, call):
    (run,) = runs(tmp_path, {"train.py": f"from peft import LoraConfig\nconfig = {call}\n"})
    assert run.scopes["lora"] == "open"


STREAMS = """from datasets import load_dataset
from transformers import Trainer, TrainingArguments

large = load_dataset("org/large", split="train", streaming=True)
small = load_dataset("org/small", split="train")
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset={})
"""


@pytest.mark.parametrize(("trained", "expected"), [("large", True), ("small", False), ("prepared", "unknown")])
def test_of_several_data_sets_it_is_the_one_that_is_trained_on_that_may_be_streamed(tmp_path, trained, expected):
    (run,) = runs(tmp_path, {"train.py": STREAMS.format(trained)})
    found = run.explicit["data.is_iterable"].value
    assert ("unknown" if is_unknown(found) else found) == expected


DEFAULTED = """import argparse
from transformers import AutoModelForSeq2SeqLM

parser = argparse.ArgumentParser()
parser.add_argument("--model_id", type=str, default="google/flan-t5-xl")
args = parser.parse_args()
model = AutoModelForSeq2SeqLM.from_pretrained(args.model_id)
"""


def test_what_is_known_of_a_model_that_the_caller_may_exchange_is_presumed(tmp_path):
    (run,) = runs(
        tmp_path, {"train.py": DEFAULTED + "from transformers import TrainingArguments\nTrainingArguments('o')\n"}
    )
    assert run.supplied["model.type"].presumed


def test_a_class_of_the_programs_own_package_may_take_arguments_of_its_own(tmp_path):
    """setfit and others name theirs TrainingArguments as well."""
    call = (
        "from {}training_args import TrainingArguments\nargs = TrainingArguments(output_dir='o', num_iterations=20)\n"
    )
    for number, package in enumerate((".", "..", "project.")):
        assert not inspected(tmp_path / str(number), {"train.py": call.format(package)}).report.diagnostics


# Two calls may make the adapter; the arguments of the second, and what is unpacked into it.
ALTERNATIVES = {
    "both say it": ("r=16", "r=16", 16),
    "one says it": ("r=16", "", "unknown"),
    "one says it twice": ("", "r=16, **{'r': 16}", "unknown"),
}


@pytest.mark.parametrize(("first", "second", "expected"), ALTERNATIVES.values(), ids=ALTERNATIVES)
def test_of_two_calls_only_what_each_of_them_says_is_known(first, second, expected, tmp_path):
    source = f"from peft import LoraConfig\na = LoraConfig({first})\nb = LoraConfig({second})\n"
    (run,) = runs(tmp_path, {"train.py": source})
    found = run.explicit["lora.r"].value
    assert ("unknown" if is_unknown(found) else found) == expected


SPELLED = """import inspect
kw = dict(output_dir='out', learning_rate=1e-5)
if 'eval_strategy' in inspect.signature(A.__init__).parameters:
    kw['eval_strategy'] = 'steps'
else:
    kw['evaluation_strategy'] = 'steps'
Trainer(model='a/b', args=A(**kw), train_dataset=rows, eval_dataset=rows).train()
"""


def test_a_key_that_a_branch_adds_may_not_be_there(tmp_path):
    """Programs ask the class which of two names it has."""
    found = inspected(tmp_path, {"train.py": HEAD + SPELLED}, releases=["transformers==5.23.0"])
    assert not [one for one in found.report.diagnostics if one.code in ("V101", "T126")]
    assert world(tmp_path, {"train.py": HEAD + SPELLED}).value("training.learning_rate") == 1e-5


# What is spread into a call from elsewhere may be anything: no library's default is told for it.
SPREAD = [
    ("m = M.from_pretrained('a/b')\nm = get_peft_model(m, LoraConfig(**kw))\nTrainer(m, A('out'))\n", "lora.r"),
    ("m = M.from_pretrained('a/b')\nm = get_peft_model(m, LoraConfig(**kw))\nTrainer(m, A('out'))\n", "lora.lora_dropout"),
    ("m = M.from_pretrained('a/b', **kw)\nTrainer(m, A('out'))\n", "derived.weights_dtype"),
    ("m = M.from_pretrained('a/b', quantization_config=B(**kw))\nTrainer(m, A('out'))\n", "derived.weights_dtype"),
    ("m = M.from_pretrained('a/b')\nTrainer(m, A('out', **kw))\n", "training.learning_rate"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "name"), SPREAD)
def test_what_is_spread_from_elsewhere_is_not_known(tmp_path, source, name):
    found = world(tmp_path, {"train.py": HEAD + "from own import kw\n" + source})
    assert is_unknown(found.value(name))


def test_a_notebook_that_only_generates_is_no_training(tmp_path):
    source = HEAD + "m = M.from_pretrained('a/b', torch_dtype=torch.float16)\nprint(m.generate(rows))\n"
    ended = source + "if __name__ == '__main__':\n    pass\n"
    assert world(tmp_path, {"judge.py": ended}).value("derived.trains") is False
    assert world(tmp_path, {"judge.py": ended + "finetune(m)\n"}).value("derived.trains") is not False


def test_sections_that_train_one_after_the_other_have_no_one_objective(tmp_path):
    text = "model: a/b\nlora:\n  r: 8\n  alpha: 16\ntraining:\n  batch_size: 2\n  gradient_accumulation_steps: 8\nphase1:\n  learning_rate: 1.0e-5\n"
    text += "  epochs: 1\ndpo:\n  learning_rate: {}\n  epochs: 1\n  beta: 0.1\n"
    assert is_unknown(world(tmp_path, {"phases.yaml": text.format("1.0e-6")}).value("derived.objective"))


TWO_LOADERS = """from dataclasses import dataclass, field
from transformers import AutoModel, AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class A:
    kind: str = field(default="a")
    path: str = field(default="a/b")
def load(kind, path):
    if kind == "a":
        return AutoModelForCausalLM.from_pretrained(path)
    return AutoModel.from_pretrained(path)
a, args = HfArgumentParser((A, TrainingArguments)).parse_args_into_dataclasses()
Trainer(model=load(a.kind, a.path), args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(("flags", "name"), [(" --path c/d", "c/d"), ("", "a/b")])
def test_the_default_of_several_calls_yields_to_the_command(flags: str, name: str, tmp_path) -> None:
    files = {
        "train.py": TWO_LOADERS,
        "run.sh": f"torchrun train.py --output_dir o --bf16 --num_train_epochs 1{flags}\n",
    }
    [found] = [one for one in runs(tmp_path, files) if "run.sh" in one.files]
    assert found.explicit["model.name_or_path"].value == name


TWO_TRAINERS = """from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]
model = AutoModelForCausalLM.from_pretrained("a/b")
def benchmark(rows):
    Trainer(model=model, args=args, train_dataset=rows).train()
def main(rows, held):
    Trainer(model=model, args=args, train_dataset=rows, eval_dataset=held if args.do_eval else None).train()
"""


def test_a_helper_s_trainer_of_the_same_arguments_is_not_the_one_that_evaluates(tmp_path) -> None:
    command = "python train.py --output_dir o --do_eval --eval_strategy epoch\n"
    assert "evaluation-without-data" not in rules(inspected(tmp_path, {"train.py": TWO_TRAINERS, "run.sh": command}))
    handed = TWO_TRAINERS.replace("def main(rows, held)", "def main(args, rows, held)") + "main(args, one, two)\n"
    assert "evaluation-without-data" not in rules(inspected(tmp_path, {"train.py": handed, "run.sh": command}))
    alone = TWO_TRAINERS.replace(", eval_dataset=held if args.do_eval else None", "")
    assert "evaluation-without-data" in rules(inspected(tmp_path, {"train.py": alone, "run.sh": command}))


@pytest.mark.parametrize(
    ("name", "method"), [("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "lora"), ("Qwen/Qwen2.5-7B-Instruct", "qlora")]
)
def test_lora_on_a_checkpoint_that_is_stored_quantised(name: str, method: str, tmp_path) -> None:
    source = (
        HEAD
        + f"model = get_peft_model(M.from_pretrained('{name}', quantization_config=B(load_in_4bit=True)), LoraConfig(r=8))\nTrainer(model, A('out')).train()\n"
    )
    assert facts(tmp_path, source, "derived.method") == [method]
