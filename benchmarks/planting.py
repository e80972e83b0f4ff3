# ruff: noqa: E501
"""Secrets in forms of an attacker's or a careless colleague's, through every command that prints: which leak, and where.

    python benchmarks/planting.py [FORM …]

A form is a file in which `@` is where the secret stands: a word, a phrase of words and what a machine makes, in turn. All bytes of both streams
are searched for the secret, as it is, in base64 and as an address writes it.
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
import urllib.parse
from collections import Counter
from pathlib import Path

from stablint import cli

SECRETS = {"word": "jambalaya", "phrase": "velvet-orchid-kestrel", "made": "q7Lw2Zt9Xk4Rv8Nb3Hs6Yd1P"}
HEAD = "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\nfp16: true\nbf16: true\nlearning_rate: 3\n"
PROGRAM = 'from transformers import Trainer, TrainingArguments\n{0}\nargs = TrainingArguments("out", fp16=True, bf16=True, learning_rate=3{1})\nTrainer("a/b", args).train()\n'
FORMS: dict[str, tuple[str, str]] = {
    "yaml: two lines in quotes": ("a.yaml", HEAD + 'hub_token: "@\n  @"\n'),
    "yaml: folded block": ("a.yaml", HEAD + "password: >-\n  @\n  @\n"),
    "yaml: anchor and alias under a plain name": ("a.yaml", HEAD + "x-a: &k @\nhub_token: *k\n"),
    "yaml: merge key": ("a.yaml", HEAD + "base: &b\n  wandb_key: @\nrun:\n  <<: *b\n"),
    "yaml: tag": ("a.yaml", HEAD + "hub_token: !!str @\n"),
    "yaml: complex key": ("a.yaml", HEAD + "? hub_token\n: @\n"),
    "yaml: flow in a list": ("a.yaml", HEAD + "env: [{name: DB_PASSWORD, value: @}]\n"),
    "yaml: base64 of kubernetes": ("a.yaml", HEAD + "data:\n  password: @64\n"),
    "yaml: address": ("a.yaml", HEAD + "logging_dir: https://ada:@@example.org/x\n"),
    "yaml: query of an address": ("a.yaml", HEAD + "dataset_url: https://example.org/x?sig=1&access_token=@\n"),
    "yaml: comment beside": ("a.yaml", HEAD + "bf16: true  # the password is @\n"),
    "yaml: duplicate key": ("a.yaml", HEAD + "hub_token: @\nhub_token: x\n"),
    "yaml: broken below": ("a.yaml", HEAD + "api_key: @\nlearning_rate: [1\n"),
    "yaml: unknown library word": ("a.yaml", HEAD + "report_to: [wandb, @]\n"),
    "yaml: truth value by mistake": ("a.yaml", HEAD + "hub_private_repo: @\n"),
    "yaml: number by mistake": ("a.yaml", HEAD + "warmup_steps: @\n"),
    "yaml: scheduler by mistake": ("a.yaml", HEAD + "lr_scheduler_type: @\n"),
    "yaml: optimizer's arguments": ("a.yaml", HEAD + "optim_args: token=@\n"),
    "json: escaped": ("ds.json", '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}, "bf16": {"enabled": true}, "wandb": {"api\\u005fkey": "@"}}'),
    "json: nested text": ("ds.json", '{"zero_optimization": {"stage": 9}, "fp16": {"enabled": true}, "bf16": {"enabled": true}, "tensorboard": {"extra": "{\\"password\\": \\"@\\"}"}}'),
    "json: unknown key of a section": ("ds.json", '{"zero_optimization": {"stage": 2, "secret_phrase": "@"}, "fp16": {"enabled": true}, "bf16": {"enabled": true}}'),
    "python: environment": ("train.py", PROGRAM.format('import os\nos.environ["HF_TOKEN"] = "@"', "")),
    "python: environment update": ("train.py", PROGRAM.format('import os\nos.environ.update(WANDB_API_KEY="@", A="b")', "")),
    "python: putenv": ("train.py", PROGRAM.format('import os\nos.putenv("HF_TOKEN", "@")', "")),
    "python: bytes": ("train.py", PROGRAM.format('PASSWORD = b"@"', "")),
    "python: implicit concatenation": ("train.py", PROGRAM.format('TOKEN = ("@"\n  "@")', "")),
    "python: walrus": ("train.py", PROGRAM.format('print(hub_token := "@")', "")),
    "python: match": ("train.py", PROGRAM.format('match password:\n    case "@":\n        pass', "")),
    "python: dictionary by zip": ("train.py", PROGRAM.format('cred = dict(zip(["user", "password"], ["ada", "@"]))', "")),
    "python: argument by mistake": ("train.py", PROGRAM.format("", ', hub_token="@", report_to="@"')),
    "python: own argument": ("train.py", PROGRAM.format("", ', hub_entry="@"')),
    "python: docstring": ("train.py", '"""Run it with HF_TOKEN=@ set."""\n' + PROGRAM.format("", "")),
    "python: default of an option": ("train.py", PROGRAM.format('import argparse\np = argparse.ArgumentParser()\np.add_argument("--api_key", "-k", type=str, default="@")', "")),
    "python: choices": ("train.py", PROGRAM.format('import argparse\np = argparse.ArgumentParser()\np.add_argument("--password", choices=["@", "b"])', "")),
    "python: f-string address": ("train.py", PROGRAM.format('url = f"postgres://ada:@@{host}/db"', "")),
    "python: subprocess": ("train.py", PROGRAM.format('import subprocess\nsubprocess.run(["huggingface-cli", "login", "--token", "@"])', "")),
    "notebook: output": ("n.ipynb", '{"cells": [{"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["password: @\\n"]}], "source": ["from transformers import TrainingArguments\\n", "a = TrainingArguments(\\"o\\", fp16=True, bf16=True, learning_rate=3)\\n"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'),
    "notebook: magic": ("n.ipynb", '{"cells": [{"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [], "source": ["%env HF_TOKEN=@\\n", "from transformers import TrainingArguments\\n", "a = TrainingArguments(\\"o\\", fp16=True, bf16=True, learning_rate=3)\\n"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'),
    "shell: export": ("run.sh", "export HF_TOKEN=@\ntorchrun train.py --fp16 True --bf16 True --learning_rate 3\n"),
    "shell: before the command": ("run.sh", "WANDB_API_KEY='@' torchrun train.py --fp16 True --bf16 True --learning_rate 3\n"),
    "shell: array": ("run.sh", "TOKENS=(@ @)\nargs=(--hub_token @ --fp16 True)\ntorchrun train.py \"${args[@]}\" --bf16 True --learning_rate 3\n".replace("[@]", "[\x00]")),
    "shell: heredoc": ("run.sh", "cat > .env <<EOF\nHF_TOKEN=@\nEOF\ntorchrun train.py --fp16 True --bf16 True --learning_rate 3\n"),
    "shell: heredoc of a config": ("run.sh", "cat > c.yaml <<'EOF'\n" + HEAD + "hub_token: @\nEOF\nllamafactory-cli train c.yaml\n"),
    "shell: flag": ("run.sh", "torchrun train.py --fp16 True --bf16 True --learning_rate 3 --hub_token @ --wandb_key=@\n"),
    "shell: flag by mistake": ("run.sh", "torchrun train.py --fp16 True --bf16 True --learning_rate 3 --report_to wandb @\n"),
    "shell: docker": ("run.sh", "docker run -e HF_TOKEN=@ --env WANDB_API_KEY=@ x torchrun train.py --fp16 True --bf16 True --learning_rate 3\n"),
    "shell: curl": ("run.sh", "curl -H 'X-Auth: @' -u ada:@ https://x\ntorchrun train.py --fp16 True --bf16 True --learning_rate 3\n"),
    "shell: read": ("run.sh", "read -r HF_TOKEN <<< '@'\ntorchrun train.py --fp16 True --bf16 True --learning_rate 3\n"),
    "log: printed": ("train.log", "[rank0]: WANDB_API_KEY=@ python train.py\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3.0, 'epoch': 0.1}\nRuntimeError: could not log in with password: @\n"),
    "settings: own key": ("stablint.toml", 'password = "@"\ngpu = "@"\n'),
    "settings: list": ("stablint.toml", 'select = ["@"]\ntoken = "@"\n'),
    "toml: pyproject": ("pyproject.toml", '[tool.stablint]\ngpu = "@"\n[tool.x]\npassword = "@"\n'),
    "name: key and value": ("password=@.yaml", HEAD),
    "name: token in a folder": ("hf_token-@/a.yaml", HEAD),
    "name: linked": ("run.sh", "torchrun train.py --deepspeed 'password=@.json' --fp16 True --bf16 True --learning_rate 3\n"),
}  # fmt: skip
FORMATS = ("json", "junit", "sarif", "github", "markdown", "gitlab", "rdjson", "concise", "jsonl")


def commands(name: str, number: int) -> list[list[str]]:
    """Of the formats, the plain one and one of the others in turn."""
    return [
        ["check", "."],
        ["check", ".", "--output-format", FORMATS[number % len(FORMATS)]],
        ["check", ".", "--debug", "--show-facts", "--lang", "zh"],
        ["check", ".", "--diff", "--unsafe-fixes"],
        ["show", name],
        ["show", name, "--output-format", "json"],
        ["fit", name, "--gpu", name],
        ["diff", name, "plain.yaml"],
        ["migrate", name, "--diff", "--from", "transformers==4.40.0", "--with", "transformers==5.0.0"],
        ["diagnose", name] if name.endswith(".log") else ["advise", name],
        ["run", "--", "torchrun", "train.py", "--fp16", "True", "--deepspeed", name],
    ]


def spelled(secret: str) -> list[bytes]:
    return [
        one.encode()
        for one in {secret, urllib.parse.quote(secret), base64.b64encode(secret.encode()).decode().rstrip("=")}
    ]


def printed(words: list[str], folder: Path) -> bytes:
    """What a command prints: in a process of its own, which has the modules already."""
    with tempfile.TemporaryFile() as streams:
        child = os.fork()
        if child == 0:
            os.dup2(streams.fileno(), 1)
            os.dup2(streams.fileno(), 2)
            os.chdir(folder)
            os.environ["STABLINT_DEBUG"] = "1"
            code = 3
            try:
                code = cli.main(words)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        os.waitpid(child, 0)
        streams.seek(0)
        return streams.read()


def tried(form: str, kind: str, number: int) -> list[str]:
    """The commands that show the secret of this form."""
    name, text = FORMS[form]
    secret = SECRETS[kind]
    encoded = base64.b64encode(secret.encode()).decode()
    leaked = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = root / name.replace("@", secret)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text.replace("@64", encoded).replace("ada:@@", f"ada:{secret}\x01").replace("@", secret)
        path.write_text(text.replace("\x00", "@").replace("\x01", "@"), encoding="utf-8")
        (root / "plain.yaml").write_text(HEAD, encoding="utf-8")
        (root / ".git").mkdir()
        for words in commands(str(path.relative_to(root)), number):
            told = printed(words, root)
            if any(one in told for one in spelled(secret)):
                leaked.append(" ".join(words[:1] + words[2:4]))
    return leaked


def main() -> None:
    wanted = sys.argv[1:] or list(FORMS)
    forms: Counter[str] = Counter()
    for number, form in enumerate(FORMS):
        if form in wanted:
            kind = list(SECRETS)[number % len(SECRETS)]
            found = tried(form, kind, number)
            forms["tried"] += 1
            forms["leaked"] += bool(found)
            if found:
                print(f"{form} ({kind}): {', '.join(dict.fromkeys(found))}", flush=True)
    print(f"{forms['leaked']} of {forms['tried']} leaked")


if __name__ == "__main__":
    main()
