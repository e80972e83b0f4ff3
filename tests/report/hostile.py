"""A small report whose every text tries to break the output: escape sequences, reordering, secrets, tabs, endless lines."""

from __future__ import annotations

from stablint.report.model import (
    Diagnostic,
    FileEdits,
    FileStatus,
    Fix,
    Related,
    Report,
    ReportedFact,
    RunSummary,
    Undetermined,
)
from stablint.report.place import locate
from stablint.report.show import RunShow
from stablint.syntax.tree import Edit, Text, Unknown

# Not of any known shape: known only because the key says so. And one that is known by its shape alone.
PLANTED = "correct-horse-battery"
SHAPED = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWx"
SECRETS = frozenset({PLANTED})

YAML = Text(
    "/somewhere/train.yaml",
    "train.yaml",
    "model_name_or_path: Qwen/Qwen2-7B-Instruct  # 通义千问\r\n"
    f"hub_token: {PLANTED}\r\n"
    "fp16:\ttrue   # as before\r\n"
    '"名前": "ｆｐ16" # wide\r\n'
    "evil\u202eyek: \x1b[2J\r\n"
    "lora_target_modules:\r\n  - q_proj\r\n  - wq_proj\r\n",
)
JSON = Text(
    "/somewhere/ds.json",
    "configs/ds\x1b[31m.json",
    '{"pad": "' + "x" * 200 + f'", "note": "{SHAPED}", "fp16": {{"enabled": true}}, "tail": "' + "y" * 200 + '"}',
)
EXPLAIN = {
    "id": "fp16-overflow-prone-model",
    "code": "P101",
    "title": "fp16 training of a model whose activations overflow fp16",
    "severity": "error",
    "bites_at": "hours",
    "when": [
        "derived.compute_dtype is float16",
        {
            "any": [
                "model.fp16_training is unsafe",
                {"not": ["training.save_steps not-multiple-of training.eval_steps"]},
            ]
        },
    ],
    "fine_when": "inference only, or a model whose activations stay small",
    "message": "`{derived.compute_dtype}` lets {model.name_or_path:value} overflow",
    "at": "derived.compute_dtype",
    "why": "Activations of this family exceed 65504, the largest fp16 number. The forward pass then gives inf, the loss turns NaN.\n\n"
    "Loss scaling does not help: it scales gradients, not activations.",
    "remedies": [
        {
            "title": "train in bf16",
            "when": ["target.gpu.native_bf16 is true"],
            "set": {"derived.compute_dtype": "bfloat16"},
            "safety": "safe",
        },
        {
            "title": "train in fp32 with gradient checkpointing",
            "when": ["target.gpu.native_bf16 is false"],
            "set": {"derived.compute_dtype": "float32", "training.gradient_checkpointing": True},
            "safety": "unsafe",
            "because": "activations and half weights take twice the memory",
        },
    ],
    "evidence": {
        "grade": "maintainer-confirmed",
        "sources": ["https://github.com/QwenLM/Qwen3/issues/670"],
        "note": "the maintainers say that fp16 overflows",
    },
    "versions": {"transformers": ">=4.37"},
    "examples": [
        {
            "dialect": "trl",
            "options": {"gpu": "A100-80GB"},
            "files": {"train.yaml": "model_name_or_path: Qwen/Qwen2-7B-Instruct\nfp16: true   # as before\n"},
            "fixed": {"train.yaml": "model_name_or_path: Qwen/Qwen2-7B-Instruct\nbf16: true   # as before\n"},
        }
    ],
}
TEXTS = {"fp16-overflow-prone-model": EXPLAIN}
RECIPES = [
    {"learning_rate": 3e-4, "model": "Qwen/Qwen-7B", "source": "https://example.org/lora.sh"},
    {"learning_rate": 1e-5, "model": "Qwen/Qwen-7B", "source": "https://example.org/full.sh"},
]

FACTS = (
    ReportedFact("derived.compute_dtype", "float16", {"kind": "derived", "facts": ["training.fp16"]}),
    ReportedFact("training.fp16", True, {"kind": "explicit", "file": "train.yaml", "line": 3, "setting": "fp16"}),
    ReportedFact(
        "training.bf16", True, {"kind": "default", "library": "trl", "releases": ">=0.19.1", "field": "SFTConfig.bf16"}
    ),
    ReportedFact("target.gpu.native_bf16", True, {"kind": "supplied", "option": "--gpu A100-80GB"}),
    ReportedFact(
        "deepspeed.fp16.enabled",
        True,
        {"kind": "explicit", "file": "other.json", "line": 12, "setting": "fp16.enabled"},
    ),
    ReportedFact("model.gated", Unknown("${GATED}"), {"kind": "unknown", "reason": "${GATED}\x1b]0;owned\x07"}),
)
ENDLESS = ReportedFact(
    "training.seed", 10**5000, {"kind": "explicit", "file": "train.yaml", "line": 9, "setting": "seed"}
)


def diagnostic(text: Text | None, start: int, end: int, **changes: object) -> Diagnostic:
    base = Diagnostic(
        code="P101",
        rule="fp16-overflow-prone-model",
        severity="error",
        message="`fp16: true` lets Qwen2 overflow: activations exceed 65504, the loss turns NaN or 0",
        bites_at="hours",
        text=text,
        start=start,
        end=end,
        setting="fp16",
        fact="training.fp16",
        absent=False,
        facts=FACTS,
        runs=("train.yaml",),
        targets=("A100-80GB",),
        releases={},
        related=(),
        fix=None,
        evidence={"grade": "maintainer-confirmed", "sources": ["https://github.com/QwenLM/Qwen3/issues/670"]},
        fingerprint="0123456789abcdef",
    )
    return base._replace(**changes)


def _at(text: Text, part: str) -> tuple[int, int]:
    start = text.text.index(part)
    return start, start + len(part)


def hostile() -> Report:
    key = YAML.text.index("fp16:")
    swap = Fix("safe", "train in bf16", (FileEdits(YAML, (Edit(key, key + 4, "bf16"),)),))
    manual = Fix("manual", f"ask {SHAPED}\nfor it", (), because="\x1b[1A")
    slow = Fix(
        "unsafe", "train in fp32", (FileEdits(JSON, (Edit(*_at(JSON, "true"), "false"),)),), "it takes twice the memory"
    )
    enabled = JSON.text.index('"enabled": true') + len('"enabled": ')
    list_start = YAML.text.index("- q_proj")
    diagnostics = (
        diagnostic(YAML, key + 6, key + 10, fix=swap, notes=("unless set elsewhere",)),
        diagnostic(
            JSON,
            enabled,
            enabled + 4,
            setting="fp16.enabled",
            fix=slow,
            runs=("a.yaml", "b\u2066.yaml", "c.yaml", "d.yaml"),
            targets=("A100-80GB", "V100-32GB"),
            releases={"trl": ">=0.20", "transformers": "<5"},
            related=(Related("train.yaml", locate(YAML.text, key), "fp16"), Related("elsewhere.yaml", None, "bf16")),
        ),
        diagnostic(
            YAML,
            *_at(YAML, '"ｆｐ16"'),
            severity="warning",
            code="V102",
            rule="unknown-key",
            message="key `名前` \u202eis unknown\nto \x9b31m the library",
            facts=(ENDLESS,),
            fix=manual,
        ),
        diagnostic(YAML, list_start, len(YAML.text) - 2, severity="warning", rule="no-text", code="A103", facts=()),
        diagnostic(
            YAML, len(YAML.text), len(YAML.text), severity="info", rule="at-the-end", code="T104", absent=True, facts=()
        ),
        diagnostic(
            None, 0, 0, severity="info", rule="live-object", code="T105", setting="TrainingArguments.fp16", facts=()
        ),
        diagnostic(
            YAML,
            key,
            key + 4,
            severity="info",
            code="S106",
            rule="silenced",
            suppressed={"reason": "we know"},
            suppressed_by="comment",
        ),
    )
    return Report(
        files=(
            FileStatus("train.yaml", "trl", "checked", None),
            FileStatus("configs/ds\x1b[31m.json", "deepspeed", "checked", None),
            FileStatus("notes.yaml", None, "skipped", "no training configuration"),
        ),
        runs=(
            RunSummary("train.yaml", ("train.yaml", "configs/ds\x1b[31m.json"), "train.yaml", 1, ("trl", "deepspeed")),
        ),
        diagnostics=diagnostics,
        undetermined=(
            Undetermined("needs-a-gpu", "train.yaml", ("target.gpu.native_bf16",)),
            Undetermined("needs-a-gpu-too", "train.yaml", ("target.gpu.memory_gib", "target.gpu.count")),
            Undetermined("needs-both", "train.yaml", ("model.parameters", "versions.trl")),
        ),
    )


EMPTY = Report(
    files=(FileStatus("notes.yaml", None, "skipped", "no training configuration"),),
    runs=(),
    diagnostics=(),
    undetermined=(),
)
CLEAN = hostile()._replace(diagnostics=(), undetermined=())

SHOW = [
    RunShow(
        files=("train.yaml", "configs/ds\x1b[31m.json"),
        dialects=("trl", "deepspeed"),
        facts=(
            *FACTS,
            ENDLESS,
            ReportedFact(
                "training.learning_rate", 2e-05, {"kind": "explicit", "file": "train.yaml", "line": 7, "setting": "lr"}
            ),
            ReportedFact(
                "training.hub_token",
                PLANTED,
                {"kind": "explicit", "file": "train.yaml", "line": 2, "setting": "hub_token"},
            ),
            ReportedFact("training.run_name", "p" * 80 + PLANTED + SHAPED, {"kind": "supplied", "option": "--set"}),
            ReportedFact(
                "training.output_dir", "\x1b]8;;http://evil\x07 \u202etxt.exe", {"kind": "supplied", "option": "--set"}
            ),
            ReportedFact(
                "training.adam_beta1",
                float("nan"),
                {"kind": "default", "library": "transformers", "releases": ">=4.28"},
            ),
            ReportedFact(
                "lora.target_modules",
                ["q_proj", "v_proj"],
                {"kind": "explicit", "file": "train.yaml", "line": 8, "setting": "x"},
            ),
        ),
        summary={"method": "LoRA, rank 16", "precision": "fp16 autocast", "steps": "1,250", "effective batch": "64"},
    )
]
