"""Commands in manifests: what is read, where it stands in the file, and that an edit of it is one of the manifest."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.files import discover
from stablint.syntax.embedded import end_in_file, start_in_file
from stablint.syntax.json import reader as as_json
from stablint.syntax.limits import Spent
from stablint.syntax.recipes.workload import started
from stablint.syntax.tree import NO_FOLDER, Document, Mapping, Script, Text
from tests.runs import inspected, rules

POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: train
"""


def parsed(text: str, name: str = "job.yaml") -> tuple[Document, ...]:
    return discover.parse(Text(f"/r/{name}", name, text), discover.kind_of(name))


def scripts(text: str, name: str = "job.yaml") -> list[str]:
    return [one.view.source for one in parsed(text, name) if one.view is not None]


def container(command: object, args: object) -> str:
    return json.dumps({"kind": "Pod", "spec": {"containers": [{"name": "a", "command": command, "args": args}]}})


@pytest.mark.parametrize(
    ("command", "args", "script"),
    [
        (["python", "train.py"], ["--lr", "1e-4", "a b"], "python train.py --lr 1e-4 'a b'"),
        (["python", "train.py"], ["it's", "$HOME"], """python train.py 'it'"'"'s' '$HOME'"""),
        (["bash", "-c"], ["cd /app && python train.py"], "cd /app && python train.py"),
        (["/bin/sh", "-lc", "torchrun train.py"], [], "torchrun train.py"),
        (["bash", "run.sh", "-c"], [], "bash run.sh -c"),
        (None, ["train.py"], "train.py"),
        (["python", 3], [], ""),
        ("python train.py", [], ""),
        ([], [], ""),
    ],
)
def test_what_a_container_starts(command, args, script):
    text = container(command, args)
    assert scripts(text, "pod.json") == scripts(text) == ([script] if script else [])


def test_a_pods_card_and_its_number():
    pod = {"nodeSelector": {"nvidia.com/gpu.product": "Tesla-T4-SHARED"}, "containers": [
        {"args": ["a"], "resources": {"limits": {"nvidia.com/gpu": 2}}}, {"args": ["b"]}]}  # fmt: skip
    root = as_json.document(Text("", "", text := json.dumps({"kind": "Pod", "spec": pod}))).root
    assert isinstance(root, Mapping)
    assert [one.gpu for one in started(text, root, Spent())] == ["Tesla T4 x2", "Tesla T4"]


@pytest.mark.parametrize(
    "list_of_args",
    [
        '      args: ["trl", "sft", "--fp16"]\n',
        "      args: [trl, sft, --fp16]\n",
        "      args:\n        - trl\n        - 'sft'\n        - \"--fp16\"\n",
        "      args:\n      - trl\n      - >-\n        sft\n      - --fp16  # a comment\n",
        '      command: [bash, -c]\n      args: ["trl sft --fp16"]\n',
        "      command: [bash, -c]\n      args:\n        - |\n          trl sft \\\n            --fp16\n",
        "      command: [bash, -c]\n      args:\n        - trl sft\n          --fp16\n",
        "      command: [bash, -c]\n      args:\n        - >\n          trl\n          sft\n          --fp16\n",
    ],
)
def test_a_flag_stands_where_the_manifest_has_it(list_of_args):
    text = POD + list_of_args
    (script,) = [one for one in parsed(text) if one.format == "shell"]
    assert isinstance(script.root, Script)
    (command,) = script.root.commands
    assert command.words[:2] == ("trl", "sft") and command.folder == NO_FOLDER
    (flag,) = command.flags.entries
    assert text[flag.key_start : flag.key_end].lstrip("-") == "fp16"


def test_every_document_of_a_file_and_every_template_in_it():
    text = "---\n".join(
        [
            POD + "      args: [trl, sft]\n",
            "kind: Deployment\nspec: {template: {spec: {initContainers: [{args: [trl, dpo]}], containers: [{args: [trl, kto]}]}}}\n",
            "kind: List\nitems:\n- kind: MPIJob\n  spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{args: [trl, grpo]}]}}}}}\n",
            "kind: Workflow\nspec: {templates: [{name: a, container: {args: [trl, rloo]}}]}\n",
        ]
    )
    ranked = "export PET_NODE_RANK=${PET_NODE_RANK}\n"  # an operator's pods
    assert scripts(text) == ["trl sft", "trl dpo", "trl kto", f"{ranked}trl grpo", f"{ranked}trl rloo"]
    assert [one.number for one in parsed(text)] == list(range(9))


def test_variables_of_the_container_are_known_to_what_it_starts():
    text = (
        POD
        + "      env: [{name: LR, value: '5e-5'}, {name: OF_A_SECRET, valueFrom: {}}]\n      args: [trl, --lr=$(LR), $(OF_A_SECRET)]\n"
    )
    assert scripts(text) == ["export LR='5e-5'\ntrl \"--lr=${LR}\" '$(OF_A_SECRET)'"]


def test_files_of_a_config_map_are_files_that_a_command_can_name():
    text = 'kind: ConfigMap\ndata:\n  ds.json: |\n    {"fp16": {"enabled": true}}\n  notes.txt: hello\n  \'n\': 3\n'
    (found,) = [one for one in parsed(text) if one.view is not None]
    assert found.path == "/r/job.yaml\0ds.json" and found.format == "json" and isinstance(found.root, Mapping)
    (entry,) = found.root.entries
    assert text[entry.key_start : entry.key_end] == '"fp16"'


def test_a_task_of_skypilot():
    text = "resources: {accelerators: A100}\nenvs: {LR: 5e-5, TEXT: a b}\nsetup: pip install trl\nrun: |\n  trl sft \\\n    --lr $LR\n"
    assert scripts(text) == [
        "export LR=${LR:-5e-5}\npip install trl",
        "export LR=${LR:-5e-5}\ntrl sft \\\n  --lr $LR\n",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "kind: sft\nlearning_rate: 1e-4\n",
        "run: now\nlearning_rate: 1e-4\n",
        "kind: Pod\nspec: {containers: {}}\n",
        "kind: Pod\nspec: {containers: [a, 3, {args: x}]}\n",
        "kind: ConfigMap\ndata: []\n",
        "setup: pip install trl\nworkdir: .\n",
    ],
)
def test_what_is_no_manifest_holds_no_command(text):
    assert scripts(text) == []


WORDS = st.lists(st.text("ab-$'\"\\ :#{}\n\té", min_size=1, max_size=6), min_size=1, max_size=5)


@given(WORDS)
def test_any_words_become_the_same_words(words):
    """Whatever quotes they need, in JSON and in YAML's own writing of it; and each piece of a view is of the text that it says."""
    import shlex

    for name in ("a.json", "a.yaml"):
        text = container(["trl", *words], [])
        for script in scripts(text, name):
            assert shlex.split(script, posix=True) == ["trl", *words]
        for one in parsed(text, name):
            for piece in one.view.pieces if one.view is not None else ():
                assert 0 <= piece.at <= piece.till <= len(text) and piece.start < piece.end


@given(st.lists(st.text("ab -\\\"'$", max_size=8), min_size=1, max_size=6))
def test_a_block_is_read_as_it_stands(lines):
    value = "\n".join(["trl", *(line.rstrip() for line in lines), "end"]) + "\n"
    text = POD + "      command: [bash, -c]\n      args:\n        - |\n" + indent(value, " " * 10, lambda _: True)
    (document,) = [one for one in parsed(text) if one.view is not None]
    view = document.view
    assert view is not None and view.source.split() == value.split()
    for word in ("trl", "end"):
        at = view.source.rfind(word)
        assert text[start_in_file(view, at) : end_in_file(view, at + 3)] == word


COMPOSE = """\
services:
  train:
    build: .
    environment:
      NPROC_PER_NODE: "2"
"""


@pytest.mark.parametrize(
    ("words", "script"),
    [
        ("    command: llamafactory-cli train a.yaml reward_model=saves/r\n", "llamafactory-cli train a.yaml reward_model=saves/r"),
        ("    command: [python, train.py, --name, a b]\n", "python train.py --name 'a b'"),
        ("    entrypoint: [axolotl, train]\n    command: [a.yaml, --max-steps, '100']\n", "axolotl train a.yaml --max-steps 100"),
        ("    entrypoint: accelerate launch\n    command: train.py\n", "accelerate launch train.py"),
        ("    command: [bash, -c, cd /app && python train.py]\n", "cd /app && python train.py"),
        ("    command: >\n      torchrun\n      train.py\n", "torchrun train.py\n"),
        ("    command: [python, 3]\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_what_a_service_of_compose_starts(words, script):
    found = scripts(COMPOSE + words, "docker-compose.yml")
    assert found == ([f"export NPROC_PER_NODE='2'\n{script}"] if script else [])


def test_what_has_no_image_is_no_service():
    assert scripts("services:\n  train:\n    command: python train.py\n") == []


PPO = "model_name_or_path: m\nstage: ppo\ndo_train: true\nfinetuning_type: lora\ndataset: a\ntemplate: qwen\noutput_dir: out\n"


@pytest.mark.parametrize(("more", "told"), [(" reward_model=saves/r", False), ("", True)])
def test_what_a_command_of_compose_adds_counts(more: str, told: bool, tmp_path: Path):
    """A key that it adds cures the file: whoever reads the file alone would refuse a run that starts."""
    compose = f"{COMPOSE}    command: llamafactory-cli train a.yaml{more}\n"
    found = inspected(tmp_path, {"a.yaml": PPO, "docker-compose.yml": compose}, releases=["llamafactory==0.9.3"])
    assert ("llamafactory-no-reward-model" in rules(found)) is told
