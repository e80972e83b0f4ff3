"""Secrets in forms of an attacker's or a careless colleague's, through every command that prints: which leak, and where.

    python benchmarks/planting.py [--round first] [--kinds word,made] [--part 0/2] [FORM …]

The forms are `benchmarks/planted.yaml`: files in which ¤ is where the secret stands; a word, a phrase of words, what a machine makes and digits, in turn
unless `--kinds` names some, of which each is tried then. All bytes that a command prints are searched for the secret, as it is, in base64 and as an
address writes it; so are the drawings that it writes, and what the language server answers an editor that opens the file, points at its lines and asks
for repairs.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import yaml

from stablint import cli
from stablint.commands.server import run_server
from stablint.config.spec import FORMATS
from stablint.server import protocol  # noqa: F401  (loaded before the children begin)

SECRETS = {
    "first": {"word": "jambalaya", "phrase": "velvet-orchid-kestrel", "made": "q7Lw2Zt9Xk4Rv8Nb3Hs6Yd1P"},
    "second": {
        "word": "tamarind",
        "phrase": "copper-lantern-osprey",
        "made": "Kp3vT8mZq1Wx6Rj9Yc4Ld7Nf",
        "hexadecimal": "9f2c1b7a4e8d03566a1fb2c7d9e0458137bc2e61",
    },
    "third": {
        "word": "bergamot",
        "phrase": "mango-harbor-quartz",
        "made": "Vn4xQ2kTz7Lw9Rb3Yd6Mh8Jc",
        "digits": "4907713825",
    },
}
PLAIN = "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\nfp16: true\nbf16: true\nlearning_rate: 3\n"
MACROS = {
    "«head»": PLAIN,
    "«flags»": "--fp16 True --bf16 True --learning_rate 3",
    "«call»": "fp16=True, bf16=True, learning_rate=3",
}


def commands(name: str, number: int) -> list[list[str]]:
    """Of the formats, the plain one and one of the others in turn."""
    return [
        ["check", "."],
        ["check", ".", "--output-format", FORMATS[1 + number % (len(FORMATS) - 1)]],
        ["check", ".", "--debug", "--show-facts", "--lang", "zh"],
        ["check", ".", "--diff", "--unsafe-fixes"],
        ["check", ".", "--statistics", "--write-baseline", "--baseline", "told.txt"],
        ["show", name],
        ["show", name, "--output-format", "json"],
        ["fit", name, "--gpu", name, "--plot", "told.svg"],
        ["diff", name, "plain.yaml"],
        ["migrate", name, "--diff", "--from", "transformers==4.40.0", "--with", "transformers==5.0.0"],
        ["diagnose", name, "--plot", "told.svg"] if name.endswith(".log") else ["advise", name],
        ["config", name],
        ["run", "--", "torchrun", "train.py", "--fp16", "True", "--deepspeed", name],
        ["server"],
    ]  # fmt: skip


def spelled(secret: str) -> list[bytes]:
    basic = base64.b64encode(f"ada:{secret}".encode()).decode()
    return [
        one.encode()
        for one in {secret, urllib.parse.quote(secret), base64.b64encode(secret.encode()).decode().rstrip("="), basic}
    ]


def printed(words: list[str], folder: Path, asked: bytes) -> bytes:
    """What a command prints and writes: in a process of its own, which has the modules already."""
    with tempfile.TemporaryFile() as streams, tempfile.TemporaryFile() as typed:
        typed.write(asked)
        typed.seek(0)
        child = os.fork()
        if child == 0:
            os.dup2(typed.fileno(), 0)
            os.dup2(streams.fileno(), 1)
            os.dup2(streams.fileno(), 2)
            os.chdir(folder)
            os.environ["STABLINT_DEBUG"] = "1"
            code = 3
            try:
                code = run_server() if words == ["server"] else cli.main(words)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        os.waitpid(child, 0)
        streams.seek(0)
        told = streams.read()
    for left in folder.glob("told.*"):
        told += left.read_bytes()
        left.unlink()
    return told


def warm() -> None:
    """Run each command once in this process, so that its children begin with what it loads."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / ".git").mkdir()
        (root / "plain.yaml").write_text(PLAIN, encoding="utf-8")
        (root / "train.log").write_text("{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.1}\n", encoding="utf-8")
        streams, at = (sys.stdout, sys.stderr), Path.cwd()
        os.chdir(root)
        try:
            with open(os.devnull, "w", encoding="utf-8") as nowhere:
                sys.stdout = sys.stderr = nowhere
                for words in [*commands("plain.yaml", 0), ["diagnose", "train.log"]]:
                    if words[0] not in ("server", "run"):
                        cli.main(words)
        finally:
            sys.stdout, sys.stderr = streams
            os.chdir(at)


_LANGUAGES = {".py": "python", ".json": "json", ".sh": "shellscript", ".toml": "toml", ".ipynb": "json"}


def exchange(path: Path, text: str) -> bytes:
    """What an editor says that opens a file, points at each of its lines and asks for repairs, links and hints."""
    uri = path.resolve().as_uri()
    lines = text.split("\n")[:40]
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines), "character": 0}}
    document = {"textDocument": {"uri": uri}}
    opened = {"uri": uri, "languageId": _LANGUAGES.get(path.suffix, "yaml"), "version": 1, "text": text}

    def messages() -> Iterator[tuple[str, object, bool]]:
        yield "initialize", {"processId": None, "rootUri": path.parent.resolve().as_uri(), "capabilities": {}}, True
        yield "initialized", {}, False
        yield "textDocument/didOpen", {"textDocument": opened}, False
        yield "textDocument/diagnostic", document, True
        for number, line in enumerate(lines):
            for character in (0, max(len(line) - 2, 0)):
                place = {**document, "position": {"line": number, "character": character}}
                yield "textDocument/hover", place, True
            if number % 8 == 7 or number == len(lines) - 1:
                yield "textDocument/completion", place, True
        yield "textDocument/codeAction", {**document, "range": whole, "context": {"diagnostics": []}}, True
        yield "textDocument/inlayHint", {**document, "range": whole}, True
        for method in ("documentLink", "documentSymbol", "codeLens"):
            yield f"textDocument/{method}", document, True
        yield "shutdown", None, True
        yield "exit", None, False

    said = b""
    for number, (method, parameters, asks) in enumerate(messages(), start=1):
        message = {"jsonrpc": "2.0", "method": method, "params": parameters, **({"id": number} if asks else {})}
        body = json.dumps(message).encode()
        said += b"Content-Length: %d\r\n\r\n" % len(body) + body
    return said


def tried(files: dict[str, str], secret: str, number: int) -> list[str]:
    """The commands that show the secret of this form."""
    encoded = {
        "{base64}": base64.b64encode(secret.encode()).decode(),
        "{basic}": base64.b64encode(f"ada:{secret}".encode()).decode(),
        "": secret,
    }

    def written(text: str) -> str:
        for name, value in [*MACROS.items(), *((f"¤{one}", value) for one, value in encoded.items())]:
            text = text.replace(name, value)
        return text

    leaked = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {"plain.yaml": PLAIN, **files}.items():
            path = root / written(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written(text), encoding="utf-8")
        (root / ".git").mkdir()
        first, text = next(iter(files.items()))
        asked = exchange(root / written(first), written(text))
        for words in commands(written(first), number):
            told = printed(words, root, asked if words == ["server"] else b"")
            if words == ["server"]:
                # an editor is answered by the address of the file that it opened itself
                told = told.replace((root / written(first)).resolve().as_uri().encode(), b"")
            if any(one in told for one in spelled(secret)):
                leaked.append(" ".join(words[:1] + words[2:4]))
    return leaked


def main() -> int:
    parser = argparse.ArgumentParser(description="Which planted secrets are printed, and where.")
    parser.add_argument("forms", nargs="*", help="names of forms (default: all of the round)")
    parser.add_argument("--round", default="", help="of planted.yaml (default: all)")
    parser.add_argument("--kinds", default="", help="of secret, with commas (default: one a form, in turn)")
    parser.add_argument("--part", default="0/1", help="of the forms, N/M: every M-th from N on")
    given = parser.parse_args()
    warm()
    planted = yaml.safe_load(Path(__file__).with_name("planted.yaml").read_text(encoding="utf-8"))
    part, parts = map(int, given.part.split("/"))
    leaks = count = 0
    for name in [given.round] if given.round else planted:
        secrets = SECRETS[name]
        for number, (form, files) in enumerate(planted[name].items()):
            if number % parts != part or (given.forms and form not in given.forms):
                continue
            kinds = given.kinds.split(",") if given.kinds else [list(secrets)[number % len(secrets)]]
            for kind in kinds:
                found = tried(files, secrets[kind], number)
                count += 1
                leaks += bool(found)
                if found:
                    print(f"{form} ({kind}): {', '.join(dict.fromkeys(found))}", flush=True)
    print(f"{leaks} of {count} leaked")
    return int(bool(leaks))


if __name__ == "__main__":
    raise SystemExit(main())
