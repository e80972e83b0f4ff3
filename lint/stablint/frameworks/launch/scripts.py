"""What well-known training scripts add to TrainingArguments: arguments of their own dataclasses, told apart by the flags that stand together.

FastChat's and Qwen's finetune.py, LLaVA's train.py and the many scripts that grew out of them. Their defaults: knowledge/frameworks/.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.base.light import NamedTuple
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Row, Rows, spelled, statement
from stablint.frameworks.huggingface import BASE, ROWS
from stablint.run.fact import Explicit, Place, Statement


class Script(NamedTuple):
    """`telling`: flags that the library does not have; two of them tell the script, or one in its `company`. `lora`: the flag without which no adapter is made.

    `stages`: words that say what is trained for, the names of the program's files and of arguments that only one of them has.
    """

    name: str
    telling: frozenset[str]
    rows: Rows
    lora: str
    library: bool = True  # it parses TrainingArguments
    stages: Table[str, str] = {}
    company: frozenset[str] = frozenset()

    def is_told_by(self, keys: frozenset[str]) -> bool:
        return not keys.isdisjoint(self.telling) and len(keys & (self.telling | self.company)) >= 2

    def stage(self, block: Block, layer: str) -> Iterator[Statement]:
        """What is trained for, by the program that is started, else by its own arguments."""
        words = block.name.split() if block.kind == "flags" else []
        named = next((word for word in words if word.rpartition("/")[2] in self.stages), "")
        if named:
            place = Place(block.document, named, block.start, block.end, None, (named,))
            value = self.stages[named.rpartition("/")[2]]
            yield Statement("training.stage", value, named, Explicit(place, layer, block.number))
            return
        for entry in block.mapping.entries if block.kind == "document" else ():
            key = spelled(entry.key)
            if key in self.stages:
                said = statement(block, entry, (entry.key,), Row(key, "training.stage", "plain"), layer)
                yield said._replace(value=self.stages[key])
                return

    def switched_on(self, statements: tuple[Statement, ...]) -> dict[str, tuple[str, ...]]:
        """The classes of what these flags switch on."""
        stated = {s.fact: s.value for s in statements}
        adapted = stated.get(self.lora) not in (None, False)
        quantised = stated.get("quantization.load_in_4bit") is True or stated.get("quantization.load_in_8bit") is True
        return {
            **({"training": (BASE,)} if self.library else {}),
            **({"lora": ("peft.LoraConfig",)} if adapted else {}),
            **({"quantization": ()} if quantised else {}),
        }


def _rows(*entries: tuple[str, str, str]) -> dict[str, Row | tuple[Row, ...]]:
    return {key: Row(key, fact, codec) for key, fact, codec in entries}


_COMMON = (
    ("model_max_length", "training.max_length", "plain"),
    ("data_path", "data.dataset", "plain"),
    ("lazy_preprocess", "training.lazy_preprocess", "flag"),
    ("eval_data_path", "data.eval_dataset", "plain"),
)
# haotian-liu/LLaVA, llava/train/train.py: `bits` other than 16 loads through bitsandbytes in the dtype that fp16/bf16 name.
LLAVA_ROWS = {
    **_rows(
        *_COMMON,
        ("lora_enable", "lora.use_peft", "flag"),
        ("double_quant", "quantization.bnb_4bit_use_double_quant", "flag"),
        ("quant_type", "quantization.bnb_4bit_quant_type", "plain"),
        ("tune_mm_mlp_adapter", "training.projector_only", "flag"),
        ("mm_tunable_parts", "training.tunable_parts", "words"),
        ("vision_tower", "model.vision_tower", "plain"),
    ),
    "bits": (Row("bits", "quantization.load_in_4bit", "is-4"), Row("bits", "quantization.load_in_8bit", "is-8")),
}
LLAVA = Script(
    "llava",
    frozenset({
        "vision_tower", "mm_projector_type", "mm_vision_select_layer", "tune_mm_mlp_adapter", "pretrain_mm_mlp_adapter",
        "mm_use_im_start_end", "mm_projector_lr", "group_by_modality_length",
    }),
    {**ROWS, **LLAVA_ROWS},
    "lora.use_peft",
    company=frozenset({"lazy_preprocess", "lora_enable", "bits", "image_folder", "freeze_backbone", "model_max_length"}),
)  # fmt: skip
# QwenLM/Qwen, finetune.py: `q_lora` trains an adapter on a checkpoint that GPTQ has quantised to four bits.
QWEN_ROWS = _rows(*_COMMON, ("use_lora", "lora.use_peft", "flag"), ("q_lora", "quantization.bits", "four-bits"))
QWEN = Script(
    "qwen-finetune",
    frozenset({"use_lora"}),
    {**ROWS, **QWEN_ROWS},
    "lora.use_peft",
    company=frozenset({"lazy_preprocess", "q_lora"}),
)
# lm-sys/FastChat, fastchat/train/train.py and train_lora.py: `q_lora` is bitsandbytes with nf4 and double quantisation.
FASTCHAT_ROWS = _rows(
    *_COMMON,
    ("q_lora", "quantization.load_in_4bit", "flag"),
    ("flash_attn", "model.attn_implementation", "flash"),
)
FASTCHAT = Script(
    "fastchat",
    frozenset({"q_lora", "lazy_preprocess", "model_max_length"}),
    {**ROWS, **FASTCHAT_ROWS},
    "lora.r",
)


# artidoro/qlora, qlora.py, and the programs that grew out of it: `bits` loads through bitsandbytes, and an adapter is made in any case.
QLORA_ROWS = {
    **_rows(
        ("double_quant", "quantization.bnb_4bit_use_double_quant", "flag"),
        ("quant_type", "quantization.bnb_4bit_quant_type", "plain"),
        ("model_max_length", "training.max_length", "plain"),
        ("full_finetune", "lora.use_peft", "inverse"),
        ("source_max_len", "training.max_prompt_length", "plain"),
        ("target_max_len", "training.max_completion_length", "plain"),
        ("dataset", "data.dataset", "plain"),
    ),
    "bits": LLAVA_ROWS["bits"],
}
QLORA = Script(
    "qlora",
    frozenset({"double_quant", "quant_type", "max_memory_MB", "source_max_len", "target_max_len"}),
    {**ROWS, **QLORA_ROWS},
    "lora.r",
    company=frozenset({"bits", "lora_r"}),
)


# allenai/open-instruct, open_instruct/finetune.py and dpo_tune_cache.py: arguments and a training loop of their own, in YAML as well.
OPEN_INSTRUCT_ROWS = _rows(
    ("use_lora", "lora.use_peft", "flag"),
    ("use_qlora", "quantization.load_in_4bit", "flag"),
    ("clip_grad_norm", "training.max_grad_norm", "plain"),
    ("max_train_steps", "training.max_steps", "plain"),
    ("num_epochs", "training.num_train_epochs", "plain"),
    ("dataset_mixer", "data.dataset", "plain"),
    ("dataset_mixer_list", "data.dataset", "plain"),
    ("use_flash_attn", "model.attn_implementation", "flash"),
)
OPEN_INSTRUCT = Script(
    "open-instruct",
    frozenset({
        "with_tracking", "checkpointing_steps", "dataset_mixer_list", "dataset_mix_dir", "use_qlora", "use_8bit_optimizer",
        "keep_last_n_checkpoints", "clean_checkpoints_at_end", "use_slow_tokenizer", "add_bos",
    }),
    {**ROWS, **OPEN_INSTRUCT_ROWS},
    "lora.use_peft",
    library=False,
    stages={
        "finetune.py": "sft", "dpo_tune_cache.py": "dpo", "dpo_tune.py": "dpo", "dpo.py": "dpo", "reward_modeling.py": "reward",
        **dict.fromkeys(("grpo_fast.py", "grpo_vllm_thread_ray_gtrl.py"), "grpo"), **dict.fromkeys(("ppo_fast.py", "ppo_vllm_thread_ray_gtrl.py"), "ppo"),
        **dict.fromkeys(("loss_type", "beta", "dpo_loss_type", "dpo_beta"), "dpo"),  # the other programs that read a file have none of them
    },
)  # fmt: skip


# Scripts around Lightning's Trainer: `--precision` takes its words (lightning fabric/connector.py, _PRECISION_INPUT).
LIGHTNING_ROWS = _rows(
    ("precision", "training.amp_dtype", "autocast"),
    ("train_batch_size", "training.per_device_train_batch_size", "plain"),
    ("train_epochs", "training.num_train_epochs", "plain"),
    ("max_epochs", "training.num_train_epochs", "plain"),
)
LIGHTNING = Script(
    "lightning",
    frozenset(
        {
            "precision",
            "max_epochs",
            "strategy",
            "accumulate_grad_batches",
            "gradient_clip_val",
            "check_val_every_n_epoch",
            "val_check_interval",
            "limit_train_batches",
            "train_batch_size",
            "train_epochs",
        }
    ),
    {**ROWS, **LIGHTNING_ROWS},
    "lora.use_peft",
    library=False,
)


# By framework.
TELLING = {one.name: one.telling for one in (LLAVA, QWEN, FASTCHAT, QLORA, LIGHTNING, OPEN_INSTRUCT)}


def script(keys: frozenset[str], *, flags: bool) -> Script | None:
    """The script that the settings belong to; None where they are the library's alone. One flag alone tells nothing: anybody may have it."""
    if len(keys & OPEN_INSTRUCT.telling) >= 2 and keys & {
        "dataset_mixer",
        "dataset_mixer_list",
        "mixer_list",
        "dataset_name",
        "train_file",
    }:
        return OPEN_INSTRUCT
    if not flags:
        return None
    return next((one for one in (LLAVA, QWEN, QLORA, FASTCHAT, LIGHTNING) if one.is_told_by(keys)), None)
