"""PEFT's adapter_config.json: its keys are the fields of the config class that `peft_type` names."""

from __future__ import annotations

import posixpath

from stablint.frameworks.fragment import Block, Fragment, Link, Row, lower_mapping
from stablint.run.fact import CLOSED, OPEN, Explicit
from stablint.run.releases.fields import is_switch
from stablint.syntax.tree import Document

ROWS = {
    "base_model_name_or_path": Row("base_model_name_or_path", "model.name_or_path", "text"),
    "target_modules": Row("target_modules", "lora.target_modules", "text"),
    "lora_config_class": Row("lora_config_class", "lora.lora_config_class"),
}
CLASSES = {
    "LORA": "peft.LoraConfig", "ADALORA": "peft.AdaLoraConfig", "ADAMSS": "peft.AdamssConfig", "ADAPTION_PROMPT": "peft.AdaptionPromptConfig",
    "BEFT": "peft.BeftConfig", "BOFT": "peft.BOFTConfig", "BONE": "peft.BoneConfig", "C3A": "peft.C3AConfig", "CARTRIDGE": "peft.CartridgeConfig",
    "CPT": "peft.CPTConfig", "DEFT": "peft.DeftConfig", "DELORA": "peft.DeloraConfig", "FOURIERFT": "peft.FourierFTConfig",
    "FROD": "peft.FrodConfig", "GLORA": "peft.GloraConfig", "GRALORA": "peft.GraloraConfig", "HIRA": "peft.HiraConfig", "HRA": "peft.HRAConfig",
    "IA3": "peft.IA3Config", "LILY": "peft.LilyConfig", "LN_TUNING": "peft.LNTuningConfig", "LOHA": "peft.LoHaConfig", "LOKR": "peft.LoKrConfig",
    "MISS": "peft.MissConfig", "MULTITASK_PROMPT_TUNING": "peft.MultitaskPromptTuningConfig", "OFT": "peft.OFTConfig", "OSF": "peft.OSFConfig",
    "PEANUT": "peft.PeanutConfig", "POLY": "peft.PolyConfig", "PREFIX_TUNING": "peft.PrefixTuningConfig", "PROMPT_TUNING": "peft.PromptTuningConfig",
    "PSOFT": "peft.PsoftConfig", "PVERA": "peft.PveraConfig", "P_TUNING": "peft.PromptEncoderConfig", "RANDLORA": "peft.RandLoraConfig",
    "ROAD": "peft.RoadConfig", "SHADOW": "peft.ShadowConfig", "SHIRA": "peft.ShiraConfig", "SUPERTUNING": "peft.SupertuningConfig",
    "TINYLORA": "peft.TinyLoraConfig", "TRAINABLE_TOKENS": "peft.TrainableTokensConfig", "UNILORA": "peft.UniLoraConfig",
    "VBLORA": "peft.VBLoRAConfig", "VERA": "peft.VeraConfig", "WAVEFT": "peft.WaveFTConfig", "XLORA": "peft.XLoraConfig",
}  # fmt: skip
TYPES = {name.rpartition(".")[2]: kind for kind, name in CLASSES.items()}


def recognise(keys: frozenset[str], block: Block) -> int:
    return 97 if "peft_type" in keys else 80 if {"r", "lora_alpha", "target_modules"} <= keys and len(keys) < 40 else 0


def row(key: str) -> Row:
    return Row(key, "lora." + key, "switch" if is_switch(key, "lora") else "plain")


def _by_peft(document: Document) -> bool:
    """Is it a file that PEFT opens itself? It looks for one name alone (0.21.2 utils/constants.py, CONFIG_NAME)."""
    return posixpath.basename(document.path.replace("\\", "/")) == "adapter_config.json"


def lower(block: Block, layer: str = "adapter-file") -> Fragment:
    if layer == "adapter-file" and not _by_peft(block.document):
        layer = "file"  # a program's own, which completes it and hands it to a class, or picks from it
    statements = tuple(lower_mapping(block, ROWS, layer, row))
    kind = next((s.value for s in statements if s.fact == "lora.peft_type"), "LORA")
    links = tuple(
        Link("model", s.value, s.origin.place)
        for s in statements
        if s.fact == "model.name_or_path" and isinstance(s.value, str) and isinstance(s.origin, Explicit)
    )
    return Fragment(
        "peft", block, layer, statements, {"lora": OPEN if block.mapping.open else CLOSED},
        {"lora": (CLASSES[kind],) if isinstance(kind, str) and kind in CLASSES else ()}, links, framework="peft",
        presumed=layer == "file",
    )  # fmt: skip
