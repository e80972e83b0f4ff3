"""Fixes in shell scripts: wherever a value came from, in its own place, and nothing else."""

from __future__ import annotations

import pytest

from stablint.config.options import options
from stablint.engine.repair import repair
from tests.runs import written

FLAGS = (
    "--model_name_or_path Qwen/Qwen2-7B-Instruct --output_dir o --learning_rate 1e-5 --per_device_train_batch_size 2"
)
ZERO = '{"fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}'

# What is changed into what; None: told only.
FIXES = {
    "a flag": (f"python t.py {FLAGS} --fp16 True\n", "--fp16", "--bf16"),
    "a flag without a value": (f"python t.py {FLAGS} --fp16\n", "--fp16", "--bf16"),
    "a text of flags": (f'A="{FLAGS} --fp16 True"\npython t.py $A\n', "--fp16", "--bf16"),
    "a list of flags": (f"A=(\n  {FLAGS}\n  --fp16 True\n)\npython t.py ${{A[@]}}\n", "--fp16", "--bf16"),
    "the command of a shell": (f"srun bash -c 'python t.py {FLAGS} --fp16 True'\n", "--fp16", "--bf16"),
    "a function": (f"run() {{\n  python t.py {FLAGS} --fp16 True --seed $1\n}}\nrun 1\nrun 2\n", "--fp16", "--bf16"),
    "a here-document of flags": (
        f"read -r -d '' A <<EOF\nt.py\n {FLAGS} \\\n --fp16 True\nEOF\ndeepspeed $A\n", "--fp16", "--bf16"),
    "YAML in a here-document": (
        "cat > c.yaml <<'EOF'\nmodel_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: a/b\nfp16: true  # as before\nuse_peft: true\nEOF\n"
        "trl sft --config c.yaml\n", "fp16:", "bf16:"),
    "indented YAML in a here-document": (
        "cat <<-EOF > c.yaml\n\tmodel_name_or_path: Qwen/Qwen2-7B-Instruct\n\tdataset_name: $D\n\tfp16: true\n\tuse_peft: true\n\tEOF\n"
        "trl sft --config c.yaml\n", "fp16:", "bf16:"),
    "JSON in a here-document": (
        f"cat > d.json <<EOF\n{ZERO}\nEOF\ndeepspeed t.py {FLAGS} --bf16 True --deepspeed d.json\n", '"enabled": true', '"enabled": "auto"'),
    "JSON in quotes": (f"deepspeed t.py {FLAGS} --bf16 True --deepspeed '{ZERO}'\n", '"enabled": true', '"enabled": "auto"'),
    "JSON in double quotes": (
        "deepspeed t.py " + FLAGS + ' --bf16 True --deepspeed "' + ZERO.replace('"', '\\"') + '"\n', None, None),
}  # fmt: skip


@pytest.mark.parametrize("case", FIXES)
def test_a_fix_changes_its_own_place_and_nothing_else(tmp_path, case):
    script, old, new = FIXES[case]
    base = written(tmp_path, {"train.sh": script})
    done = repair([base], options(gpus=["A100-80GB"]), unsafe=True, base=base)
    after = {text.text for text in done.texts.values()}
    assert after == ({script.replace(old, new)} if old else set())
    assert not done.refused
