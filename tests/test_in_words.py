"""What `show` says at first sight of whole small runs: a judge opens the files beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.hazard.checked import Checked
from stablint.in_words import in_words
from tests.runs import Files, runs

_RUN = "--model_name_or_path meta-llama/Llama-2-7b-hf --output_dir o --bf16 True --num_train_epochs 2 --per_device_train_batch_size 4"
_STEPS = 'STEPS=100\nif [ -n "$SMOKE" ]; then STEPS=1; fi\n'

SAID: dict[str, tuple[Files, dict[str, str]]] = {
    "a plain run": (
        {"run.sh": f"torchrun --nproc_per_node 8 train.py {_RUN} --learning_rate 2e-5\n"},
        {"framework": "transformers.Trainer (presumed)", "precision": "bfloat16", "learning rate": "2e-05", "steps": "2 epochs",
         "effective batch": "32 (presumed)", "checkpoints": "every 500 steps"},
    ),
    "exports that are joined": (
        {"run.sh": f"export A=1 &&\nexport LR=2e-5 &&\n\npython train.py {_RUN} --learning_rate $LR\n"},
        {"learning rate": "2e-05"},
    ),
    "a command that a test guards stays one that may not be": (
        {"run.sh": f"LR=1e-5\ngrep -q big /proc/cpuinfo && LR=2e-5\npython train.py {_RUN} --learning_rate $LR\n"},
        {"learning rate": "not known: `$LR` differs by branch: 1e-5, 2e-5"},
    ),
    "a list that grows in branches and loops": (
        {"run.sh": f"args=({_RUN} --learning_rate 2e-5)\nif [ $GC -ne 0 ]; then args+=(--gradient_checkpointing); fi\n"
                   'for d in a b; do args+=(--extra "$d"); done\nif [ $N -gt 1 ]; then h="srun torchrun train.py"; else h="torchrun train.py"; fi\n'
                   'echo "$h ${args[@]}"\n$h "${args[@]}"\n'},
        {"learning rate": "2e-05", "steps": "2 epochs", "precision": "bfloat16", "method": "unknown"},
    ),
    "a text that grows": (
        {"run.sh": f'ARGS="{_RUN} --learning_rate 2e-5"\nif [ "$1" = x ]; then ARGS="$ARGS --weight_decay 0.1"; fi\n'
                   'for d in a b; do ARGS+=" --extra $d"; done\npython train.py $ARGS\n'},
        {"learning rate": "2e-05", "steps": "2 epochs", "effective batch": "not known: batch size, accumulation and processes are not all known (4 a device, 1 processes)"},
    ),
    "a number of steps that a branch decides is not the default of three epochs": (
        {"run.sh": f"{_STEPS}python train.py {_RUN} --max_steps $STEPS --save_steps $STEPS\n"},
        {"steps": "not known: `$STEPS` differs by branch: 1, 100", "checkpoints": "not known: `$STEPS` differs by branch: 1, 100"},
    ),
    "an evaluation": (
        {"run.sh": f"python run_clm.py {_RUN} --do_eval\n"},
        {"training": "not known: whether it trains without `do_train` is the program's to say", "steps": ""},
    ),
    "a program that is called after what it is for": (
        {"run.sh": f"deepspeed train_dpo.py {_RUN} --beta 0.1\n"},
        {"objective": "dpo (presumed from the program's name)"},
    ),
    "a release that is stated": (
        {"run.sh": f"python train.py {_RUN}\n", "requirements.txt": "transformers==4.37.2\n"},
        {"releases": "transformers 4.37.2"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "said"), SAID.values(), ids=SAID)
def test_at_first_sight(files: Files, said: dict[str, str], tmp_path: Path) -> None:
    (run,) = runs(tmp_path, files)
    words = in_words(Checked(run).newest)
    assert {label: words.get(label, "") for label in said} == said
