"""A module is read by who imports it: behind Unsloth the libraries' classes are Unsloth's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

MODULE = """from trl import SFTConfig, SFTTrainer


def fit(model, tokenizer, rows, out):
    args = SFTConfig(output_dir=out, max_seq_length=2048, learning_rate=1e-5, num_train_epochs=1, bf16=True)
    SFTTrainer(model=model, processing_class=tokenizer, train_dataset=rows, args=args).train()
"""
PINS = "transformers==4.57.6\ntrl==0.24.0\n"
FIRST = "import unsloth\nfrom datasets import load_from_disk\nfrom fitting import fit\n"
BY_ANOTHER = "from loading import model, tokenizer\nfrom fitting import fit\n"
LOADING = "from unsloth import FastLanguageModel\n\nmodel, tokenizer = FastLanguageModel.from_pretrained('m/m')\n"
LAST = "from fitting import fit\nimport unsloth\n"
PLAIN = "from transformers import AutoModelForCausalLM\nfrom fitting import fit\n"
CALLS = "\nfit(model, tokenizer, load_from_disk('rows'), 'out')\n"


def weight(tmp_path: Path, files: dict[str, str]) -> set[str]:
    found = inspected(tmp_path, {"fitting.py": MODULE, "requirements.txt": PINS, **files})
    return {one.severity for one in found.findings if one.hazard.code == "V101"}


@pytest.mark.parametrize(
    "files",
    [
        {"train.py": FIRST + CALLS},
        {"train.py": BY_ANOTHER + CALLS, "loading.py": LOADING},
        {"train.py": FIRST + CALLS, "again.py": BY_ANOTHER + CALLS, "loading.py": LOADING},
    ],
    ids=["first", "by-another-module", "by-both"],
)
def test_a_module_behind_unsloth_has_its_classes(files: dict[str, str], tmp_path: Path) -> None:
    assert "error" not in weight(tmp_path, files)


@pytest.mark.parametrize(
    "files",
    [
        {"fitting.py": "from loading import model\n" + MODULE, "loading.py": LOADING},
        {"fitting.py": "import importlib\n\nimportlib.import_module('unsloth')\n" + MODULE},
        {"ours/__init__.py": "import unsloth\n", "ours/fit.py": MODULE, "fitting.py": ""},
        {"ours/__init__.py": "import unsloth\n", "ours/a/__init__.py": "", "ours/a/fit.py": MODULE, "fitting.py": ""},
    ],
    ids=["by-its-own-import", "by-a-call", "by-its-package", "by-the-package-above"],
)
def test_a_module_that_brings_unsloth_itself_has_its_classes(files: dict[str, str], tmp_path: Path) -> None:
    assert "error" not in weight(tmp_path, files)


LAZILY = (
    "def load():\n    from unsloth import FastLanguageModel\n\n    return FastLanguageModel.from_pretrained('m/m')\n"
)
IN_ORDER = """def main():
    from loading import load
    model, tokenizer = load()
    from fitting import fit
    fit(model, tokenizer, [], 'out')


main()
"""
FITTED = MODULE.replace("from trl import SFTConfig, SFTTrainer\n\n\n", "").replace(
    "    args =", "    from trl import SFTConfig, SFTTrainer\n\n    args ="
)


@pytest.mark.parametrize(
    "files",
    [
        {"train.py": IN_ORDER, "loading.py": LAZILY},
        {"train.py": IN_ORDER, "loading.py": LAZILY, "fitting.py": FITTED},
        {"train.py": IN_ORDER, "loading.py": LOADING},
        {
            "train.py": "from loading import load\n" + IN_ORDER.replace("    from loading import load\n", ""),
            "loading.py": LAZILY,
        },
        {"train.py": IN_ORDER.replace("from loading import load", "import unsloth").replace("load()", "None, None")},
        {"train.py": LAZILY + "\n\n" + IN_ORDER.replace("    from loading import load\n", "")},
        {"scripts/train.py": IN_ORDER.replace("loading", "ours.loading"), "ours/loading.py": LAZILY},
    ],
    ids=[
        "both-lazily",
        "the-library-too",
        "the-first-at-once",
        "the-second-alone",
        "itself",
        "in-one-text",
        "in-a-package",
    ],
)
def test_what_functions_import_may_be_behind_unsloth(files: dict[str, str], tmp_path: Path) -> None:
    assert "error" not in weight(tmp_path, files)


@pytest.mark.parametrize(
    "files",
    [
        {"train.py": IN_ORDER, "loading.py": "def load():\n    return None, None\n"},
        {"train.py": IN_ORDER, "loading.py": LAZILY, "plain.py": PLAIN + CALLS},
        {
            "train.py": "def main():\n    from fitting import fit\n    fit(None, None, [], 'out')\n    import unsloth\n\n\nmain()\n"
        },
    ],
    ids=["another-function", "one-of-two", "behind"],
)
def test_what_functions_import_elsewhere_changes_nothing(files: dict[str, str], tmp_path: Path) -> None:
    assert "error" in weight(tmp_path, files)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"fitting.py": MODULE + "\n\nfrom loading import model\n", "loading.py": LOADING},
        {"ours/__init__.py": "import unsloth\n"},
        {"train.py": PLAIN + CALLS},
        {"train.py": LAST + CALLS},
        {"train.py": FIRST + CALLS, "plain.py": PLAIN + CALLS},
        {"train.py": "import unsloth\n\nprint('no module of ours')\n"},
    ],
    ids=["nobody", "below", "beside-a-package", "plain", "behind", "one-of-two", "another-program"],
)
def test_any_other_module_has_the_library_s(files: dict[str, str], tmp_path: Path) -> None:
    assert "error" in weight(tmp_path, files)


NEWER = "from transformers import MllamaForConditionalGeneration\n\nmodel = MllamaForConditionalGeneration.from_pretrained('m/m')\n"
BY_WORD = "for name in ('llama', 'qwen'):\n    try:\n        exec(f'from .{name} import Model')\n    except ImportError:\n        pass\n"
BY_MODULE = BY_WORD.replace(
    "exec(f'from .{name} import Model')", "importlib.import_module(f'.{name}', __name__)"
).replace("ImportError", "Exception")
BY_NAME = "try:\n    from models.llama import model\nexcept (ImportError, OSError):\n    model = None\n"
RAISED = "try:\n    from models.llama import model\nexcept ImportError as error:\n    raise SystemExit('newer, please') from error\n"
NO_LIBRARY = "try:\n    from models.llama import model\nexcept ModuleNotFoundError:\n    model = None\n"


def told(tmp_path: Path, files: dict[str, str]) -> set[str]:
    every = {"models/llama.py": NEWER, "requirements.txt": "transformers==4.39.2\n", **files}
    return {one.severity for one in inspected(tmp_path, every).findings if one.hazard.code == "V233"}


@pytest.mark.parametrize(
    "files",
    [{"models/__init__.py": BY_WORD}, {"models/__init__.py": BY_MODULE}, {"run.py": BY_NAME}],
    ids=["by-word", "by-module", "by-name"],
)
def test_a_module_that_its_importers_go_on_without_may_fail(files: dict[str, str], tmp_path: Path) -> None:
    assert told(tmp_path, files) == set()


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"run.py": "from models.llama import model\n"},
        {"run.py": BY_NAME, "other.py": "from models.llama import model\n"},
        {"run.py": RAISED},
        {"run.py": NO_LIBRARY},
        {"other/__init__.py": BY_WORD},
    ],
    ids=["nobody", "plain", "one-of-two", "raised", "no-library", "elsewhere"],
)
def test_any_other_import_fails(files: dict[str, str], tmp_path: Path) -> None:
    assert told(tmp_path, files) == {"warning"}  # a list that is older than the name need not be what is installed
