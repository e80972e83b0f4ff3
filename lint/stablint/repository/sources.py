"""The modules of a repository that a program is made of, who imports them, and the options that they declare.

Asked only where a file is shown.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Table

from stablint.assemble.files import Files
from stablint.base.light import NamedTuple
from stablint.files import discover
from stablint.frameworks.fragment import plain_value
from stablint.frameworks.programs.imported import relative
from stablint.repository.defaults import by_environment, with_default
from stablint.repository.given import Given
from stablint.repository.programs import programs_of
from stablint.repository.readers import placed
from stablint.repository.referrers import content
from stablint.syntax.python import reader as python_reader
from stablint.syntax.tree import Call, Mapping, Module

_MOST = 40  # modules of one program

_FAR = 3  # importers of importers

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^()]*\)|[^\n#]+)|import[ \t]([\w., \t]+))", re.MULTILINE
)

# Libraries that train nothing, or nothing by an adapter unless they are told to.
_KNOWN = frozenset(
    ["torch", "transformers", "trl", "accelerate", "deepspeed", "datasets", "numpy", "np", "pandas", "wandb", "tqdm", "tokenizers", "evaluate",
     "sklearn", "scipy", "matplotlib", "yaml", "omegaconf", "hydra", "fire", "click", "typer", "tyro", "rich", "loguru", "tensorboard",
     "tensorboardX", "tensorboard_logger", "mlflow", "huggingface_hub", "safetensors", "einops", "jinja2", "PIL", "cv2", "torchvision",
     "torchaudio", "sentencepiece", "nltk", "rouge", "rouge_score", "sacrebleu", "bleu", "jsonlines", "ujson", "orjson", "requests", "psutil",
     "dotenv", "dacite", "pydantic", "pyarrow", "str2bool", "colorama", "termcolor", "flash_attn", "liger_kernel", "sentence_transformers",
     "fairscale", "apex", "packaging", "pkg_resources", "six", "absl", "ml_collections", "editdistance", "seaborn", "pynvml", "GPUtil", "ray",
     "vllm", "openai", "tiktoken", "protobuf", "google", "regex", "simple_parsing", "xformers", "triton", "optimum", "setuptools", "attr",
     "attrs", "more_itertools", "zstandard", "h5py", "lmdb", "soundfile", "librosa", "jiwer", "qwen_vl_utils", "decord",
     "modelscope", "swanlab", "torch_xla", "smdistributed", "timm", "diffusers", "comet", "comet_ml", "lightning", "pytorch_lightning", "esm",
     "statsmodels", "faster_whisper", "pyannote", "open_clip", "mteb", "langchain_community", "transformers_stream_generator"]
)  # fmt: skip

_MAY_TRAIN = re.compile(r"train|tun(?:e|ing)|peft|model|fit\b|learn|\brun|main|pipeline", re.IGNORECASE)


_OF_SETTINGS = (".yaml", ".yml", ".json", ".toml")


class Source(NamedTuple):
    path: str
    text: str


class Sources:
    def __init__(self, files: Files) -> None:
        self._files = files
        self.cells: dict[str, str] = {}  # of notebooks that are being read
        self._closures: dict[str, tuple[list[Source], bool]] = {}
        self._known: dict[str, list[Given]] = {}
        self._importing: dict[str, list[str]] = {}
        self._imports_of: dict[str, dict[str, tuple[str, ...]]] = {}

    def options(self, sources: list[Source], given: Table[str, Given]) -> dict[str, Given]:
        found: dict[str, Given] = {}
        for one in sources:
            for option in self._declared(one):
                found.setdefault(option.entry.key, option)
        return {**found, **{name: given[name] for name in found if name in given}}

    def settings_of(self, program: str) -> Callable[[str], object]:
        """What a file of settings says that the program names, beside it or in a folder above it."""

        def opened(name: str) -> object:
            path = placed(name, program, self._files.root(program)) if name.endswith(_OF_SETTINGS) else None
            found = next(iter(self._files.documents(path)), None) if path is not None and os.path.isfile(path) else None
            root = found.root if found is not None else None
            return plain_value(root) if isinstance(root, Mapping) else None

        return opened

    def _declared(self, source: Source) -> list[Given]:
        """The options of a module, which is parsed once for all runs that it stands in."""
        if source.path not in self._known:
            self._known[source.path] = []
            if any(word in source.text for word in ("add_argument", "dataclass", "click", "typer")):
                made = python_reader.module(source.text)
                document = next(iter(self._files.documents(source.path)), None)
                otherwise = by_environment(source.text)
                # an object of settings is made of what the command says
                for call in sorted(made.calls, key=_of_a_class) if isinstance(made, Module) else ():
                    if call.name in ("argparse.options", "dataclass.options") and document is not None:
                        entries = (with_default(entry, otherwise) for entry in call.arguments.entries)
                        self._known[source.path] += [Given(document, entry) for entry in entries]
        return self._known[source.path]

    def closure(self, program: str) -> tuple[list[Source], bool]:
        """The program and the modules of the repository that it imports, and whether these are all that may train for it. Of a module that others
        import those of the program that starts with it."""
        if program not in self._closures:
            start = self.starter(program)
            found, whole = self._collected(start or program)
            if start is not None:
                own = Source(program, self._text(program))
                found = [own, *(one for one in found if one.path != program)]
            self._closures[program] = found, whole and (start is not None or "__main__" in found[0].text)
            if start is None and not self.importers(program):
                self._closures[program] = found, whole
        return self._closures[program]

    def starter(self, program: str) -> str | None:
        """The only program that imports this module, or what imports it: of several the one that is called after a training."""
        if not program.endswith(".py") or "__main__" in self._text(program):
            return program
        seen, level, mains = {program}, [program], set[str]()
        for _ in range(_FAR):
            above = [one for path in level for one in self.importers(path) if one not in seen]
            seen.update(above)
            mains |= {one for one in above if "__main__" in self._text(one) or one.endswith("__main__.py")}
            level = [one for one in above if one not in mains]
        named = [one for one in mains if _MAY_TRAIN.search(os.path.basename(one))]
        return next(iter(mains)) if len(mains) == 1 else named[0] if len(named) == 1 else None

    def importers(self, module: str) -> list[str]:
        """The programs of the repository that import a module of it."""
        if module not in self._importing:
            stem = os.path.splitext(os.path.basename(module))[0]
            stem = os.path.basename(os.path.dirname(module)) if stem == "__init__" else stem
            self._importing[module] = [
                one
                for one, names in self._imported_by(self._files.root(module)).items()
                if one != module
                and any(module in self._modules(name, one) for name in names if stem in name.split("."))
            ]
        return self._importing[module]

    def _imported_by(self, root: str) -> dict[str, tuple[str, ...]]:
        """What each program of the repository imports; looked for once."""
        if root not in self._imports_of:
            programs = programs_of(root, self._files) if os.path.isdir(root) else ()
            self._imports_of[root] = {one: tuple(_imports(self._text(one))) for one in programs if one.endswith(".py")}
        return self._imports_of[root]

    def _collected(self, program: str) -> tuple[list[Source], bool]:
        found, whole = {program: Source(program, self._text(program))}, True
        pending = [program]
        while pending and len(found) <= _MOST:
            path = pending.pop(0)
            for name in _imports(found[path].text):
                top = name.lstrip(".").partition(".")[0]
                if (
                    (top in _KNOWN and name != "modelscope.trainers")
                    or top == "peft"
                    or (top in sys.stdlib_module_names and not name.startswith("."))
                ):
                    continue
                modules = self._modules(name, path)
                whole = whole and (bool(modules) or not _MAY_TRAIN.search(name))
                for module in modules:
                    if module not in found:
                        found[module] = Source(module, self._text(module))
                        pending.append(module)
        return list(found.values()), whole and len(found) <= _MOST

    def _text(self, path: str) -> str:
        if path.endswith(".py"):
            return content(path, self._files).decode("utf-8", "replace")
        return self.cells.get(path) or "\n".join(
            one.view.source for one in self._files.documents(path) if one.view is not None
        )

    def _modules(self, name: str, beside: str) -> list[str]:
        """The files of the repository that an import means: the module, or the package and the module of that name in it."""
        up, named = relative(name)
        parts = [part for part in named if part]
        found: list[str] = []
        for names in (parts, parts[:-1]):
            inner = "/".join(names)
            for wanted in (
                (f"{inner}.py", f"{inner}/__init__.py")
                if names
                else ((f"{up}__init__.py",) if name.startswith(".") else ())
            ):
                for folder in ("", "src/"):
                    path = discover.locate(up + folder + wanted if names else wanted, beside, self._files.reach(beside))
                    if path is not None and os.path.isfile(path):
                        found.append(path)
                        break
        if not found and parts:  # a package without a file of its own
            inside = discover.locate(up + "/".join(parts[:-1] or parts), beside, self._files.reach(beside))
            return [beside] if inside is not None and os.path.isdir(inside) else []
        return found


def _of_a_class(call: Call) -> bool:
    return call.name == "dataclass.options"


def _imports(text: str) -> Iterator[str]:
    for module, names, plain in _IMPORT.findall(text):
        if plain:
            yield from (one.split()[0] for one in plain.split(",") if one.split())
            continue
        for one in names.strip("()").replace("\n", ",").split(","):
            word = one.partition("#")[0].split()
            if word:
                yield f"{module}{'' if module.endswith('.') else '.'}{word[0]}" if word[0] != "*" else module
