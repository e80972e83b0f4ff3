"""The guard in real trainings of tiny models on CPU, poisoned at step 7: weights and checkpoints stay finite, the good one stays, the module is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
os.environ.update(
    HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", WANDB_DISABLED="true", TOKENIZERS_PARALLELISM="false"
)
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

import stablint  # noqa: E402
from tests.integrate import tiny  # noqa: E402

ACTIONS = ("raise", "stop", "skip")
BEFORE = {2: "checkpoint-6", "epoch": None}  # the newest checkpoint before the poison, by save_steps


def arguments(folder, **chosen):
    given = {"per_device_train_batch_size": tiny.ROWS, "max_steps": 12, "learning_rate": 1e-3, "use_cpu": True, "report_to": [],
             "save_total_limit": 1, "logging_strategy": "no", "save_strategy": "steps", "save_steps": 2, "bf16": False,
             "disable_tqdm": True}  # fmt: skip
    return transformers.TrainingArguments(output_dir=str(folder), **(given | chosen))


def guarded(trainer, **chosen):
    """Trains under a guard; its exception where it raises."""
    guard = stablint.TrainingGuard(gpu=(), at_start=False, **chosen)
    trainer.add_callback(guard)
    try:
        trainer.train()
    except stablint.TrainingStopped as stopped:
        return guard, stopped
    return guard, None


def judged(folder, weights, guard, stopped, action: str, module: str, steps: int | None) -> None:
    """What must be true of every cell."""
    assert tiny.is_finite(weights)
    saved = tiny.checkpoints(folder)
    assert all(saved.values()), saved
    if action == "raise":
        assert stopped is not None and stopped.step == tiny.STEP and "nan" in stopped.sign
        assert stopped.module == module, stopped
    else:
        assert stopped is None
    if action == "stop":
        assert guard.stopped.startswith(f"step {tiny.STEP}:") and guard.module == module
    if action == "skip":
        assert guard.skipped == 1 and not guard.stopped and steps == 12
    else:
        assert not saved or int(list(saved)[-1][11:]) < tiny.STEP


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("save", [2, "epoch"])
@pytest.mark.parametrize("logging", [1, 5, "no"])
@pytest.mark.parametrize("bf16", [False, True])
def test_rhythms_of_the_trainer(tmp_path, action, save, logging, bf16):
    """How often it logs and saves decides nothing."""
    rhythm = {"save_strategy": "epoch"} if save == "epoch" else {"save_steps": save}
    told = {"logging_strategy": "no"} if logging == "no" else {"logging_strategy": "steps", "logging_steps": logging}
    model = tiny.model("forward")
    trainer = transformers.Trainer(
        model=model, args=arguments(tmp_path, bf16=bf16, **rhythm, **told), train_dataset=tiny.Rows()
    )
    guard, stopped = guarded(trainer, on_nan=action)
    judged(tmp_path, model.parameters(), guard, stopped, action, tiny.NAMED["forward"], trainer.state.global_step)
    saved = tiny.checkpoints(tmp_path)
    if action != "skip" and save == 2:
        assert BEFORE[2] in saved
    if action == "skip":
        assert len(saved) <= 2 and "checkpoint-12" in saved


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("poison", ["forward", "backward", "gradient", "loss"])
def test_where_it_comes_from_in_the_trainer(tmp_path, action, poison):
    model = tiny.model(poison)
    kind = tiny.LossTrainer if poison == "loss" else transformers.Trainer
    trainer = kind(model=model, args=arguments(tmp_path, gradient_accumulation_steps=1), train_dataset=tiny.Rows())
    guard, stopped = guarded(trainer, on_nan=action)
    judged(tmp_path, model.parameters(), guard, stopped, action, tiny.NAMED[poison], trainer.state.global_step)
    if stopped is not None:
        said = {
            "forward": "rows 1",
            "backward": "on the way back",
            "gradient": "gradient of the weights",
            "loss": "it arises in the loss outside",
        }
        assert said[poison] in str(stopped)


def test_the_bad_one_of_accumulated_batches_is_named(tmp_path):
    model = tiny.model("forward")
    rows = tiny.Rows(step=11)  # the third batch of step 3, four of which make a step
    trainer = transformers.Trainer(
        model=model, args=arguments(tmp_path, gradient_accumulation_steps=4), train_dataset=rows
    )
    _, stopped = guarded(trainer)
    assert stopped is not None and (stopped.step, stopped.module) == (3, "model.layers.1.mlp")
    assert "batch 3 of the step" in str(stopped) and tiny.is_finite(model.parameters())


@pytest.mark.parametrize("action", ["raise", "stop"])
def test_lazy_keeps_the_checkpoint_and_not_the_weights(tmp_path, action):
    model = tiny.model("forward")
    trainer = transformers.Trainer(model=model, args=arguments(tmp_path), train_dataset=tiny.Rows(step=8))
    guard, stopped = guarded(trainer, on_nan=action, lazy=True)
    saved = tiny.checkpoints(tmp_path)
    assert saved and all(saved.values()) and "checkpoint-6" in saved
    assert (stopped is not None) == (action == "raise") and guard.stopped


def test_a_healthy_training_is_as_it_would_be_without(tmp_path):
    models = []
    for watched in (False, True):
        model = tiny.model("forward")
        trainer = transformers.Trainer(
            model=model, args=arguments(tmp_path / str(watched)), train_dataset=tiny.Rows(step=None)
        )
        if watched:
            guard, stopped = guarded(trainer)
            assert stopped is None and not guard.stopped and not guard.held and not guard.signs
        else:
            trainer.train()
        models.append(model)
    assert all(torch.equal(a, b) for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True))
    assert list(tiny.checkpoints(tmp_path / "True")) == ["checkpoint-12"]
    assert trainer.args.save_total_limit == 1


class Spoil(transformers.TrainerCallback):
    """Writes NaN into a weight as a step of too large a rate would."""

    def on_optimizer_step(self, args, state, control, model=None, **kwargs):
        if state.global_step == tiny.STEP - 2:
            with torch.no_grad():
                model.model.layers[1].mlp.down_proj.weight.fill_(float("nan"))


def test_weights_that_a_step_has_spoilt_are_not_saved(tmp_path):
    """Gradients finite, weights not: the save of step 6 is held back, and step 7 names whose weights they are."""
    model = tiny.model()
    trainer = transformers.Trainer(
        model=model, args=arguments(tmp_path), train_dataset=tiny.Rows(step=None), callbacks=[Spoil()]
    )
    guard, stopped = guarded(trainer)
    assert guard.held == ["checkpoint-6"] and list(tiny.checkpoints(tmp_path)) == ["checkpoint-4"]
    assert stopped is not None and stopped.module == "model.layers.1.mlp.down_proj" and "weights of" in str(stopped)


class Scaled(transformers.Trainer):
    """With torch's own loss scaler, which accelerate makes on cards only."""

    def create_accelerator_and_postprocess(self):
        super().create_accelerator_and_postprocess()
        self.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)


def test_a_step_that_the_scaler_skips_is_healthy(tmp_path):
    model = tiny.model("gradient")
    trainer = Scaled(model=model, args=arguments(tmp_path), train_dataset=tiny.Rows())
    guard, stopped = guarded(trainer)
    assert stopped is None and not guard.stopped and guard.skipped == 0 and trainer.state.global_step == 12
    assert tiny.is_finite(model.parameters()) and all(tiny.checkpoints(tmp_path).values())


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("poison", "sign"), [("gradient", "loss scale has fallen"), ("forward", "before any scaling")])
def test_a_scaler_that_skips_for_ever_is_sick(tmp_path, action, poison, sign):
    """Told by the scale where the gradients overflow, and sooner where the loss itself is no number."""
    model = tiny.model(poison)
    trainer = Scaled(model=model, args=arguments(tmp_path, max_steps=40), train_dataset=tiny.Rows(for_ever=True))
    guard, stopped = guarded(trainer, on_nan=action)
    assert tiny.is_finite(model.parameters()) and all(tiny.checkpoints(tmp_path).values())
    said = guard.stopped if action == "stop" else str(stopped)
    assert sign in said, said
    assert trainer.state.global_step < 25


# --- loops of one's own -------------------------------------------------------------------------------------------------------------


def batches(step: int | None = tiny.STEP, count: int = 12):
    rows = iter(tiny.Rows(step))
    return [
        {name: torch.tensor([row[name] for row in pair]) for name in ("input_ids", "labels")}
        for pair in [(next(rows), next(rows)) for _ in range(min(count, 8))]
    ]


def own_loss(model, batch, poison):
    loss = model(**batch).loss
    return loss * float("nan") if poison == "loss" and bool((batch["input_ids"] == tiny.MARK).any()) else loss


def plain_loop(guard, model, poison, clip: bool):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    guard.watch(model)
    taken = 0
    for batch in batches():
        optimizer.zero_grad()
        loss = own_loss(model, batch, poison)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) if clip else None
        if not guard.check(loss=loss, model=model, norm=norm, optimizer=optimizer):
            if guard.stopped:
                break
            continue
        optimizer.step()
        taken += 1
    return taken


def accelerate_loop(guard, model, poison, clip: bool):
    from accelerate import Accelerator

    accelerator = guard.wrap(Accelerator(cpu=True))
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    taken = 0
    for batch in batches():
        loss = own_loss(model, batch, poison)
        accelerator.backward(loss)
        if clip:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if guard.stopped:
            break
        taken += 1
    return taken


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("poison", ["forward", "backward", "gradient", "loss"])
@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("loop", [plain_loop, accelerate_loop])
def test_loops_of_ones_own(loop, action, poison, clip):
    model = tiny.model(poison)
    guard = stablint.TrainingGuard(on_nan=action)
    stopped = None
    try:
        loop(guard, model, poison, clip)
    except stablint.TrainingStopped as error:
        stopped = error
    finally:
        guard.close()
    assert tiny.is_finite(model.parameters())
    if action == "raise":
        assert stopped is not None and (stopped.step, stopped.module) == (tiny.STEP, tiny.NAMED[poison])
    else:
        assert stopped is None
    if action == "stop":
        assert guard.stopped.startswith(f"step {tiny.STEP}:") and guard.module == tiny.NAMED[poison]
    if action == "skip":
        assert guard.skipped == 1 and not guard.stopped


def test_a_batch_that_is_no_number_is_named():
    model, guard = tiny.model(), stablint.TrainingGuard()
    guard.watch(model)
    embedded = torch.ones(2, 4, 32)
    embedded[1, 2, 3] = float("inf")
    loss = model(inputs_embeds=embedded, labels=torch.ones(2, 4, dtype=torch.long)).loss
    loss.backward()
    with pytest.raises(
        stablint.TrainingStopped, match="the batch holds values that are not finite, in `inputs_embeds`"
    ):
        guard.check(loss=loss, model=model)


def test_accelerate_saves_nothing_bad(tmp_path):
    from accelerate import Accelerator

    model, guard = tiny.model(), stablint.TrainingGuard(on_nan="stop")
    accelerator = guard.wrap(Accelerator(cpu=True))
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1e-3))
    for number, batch in enumerate(batches(None)[:2]):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.save_state(str(tmp_path / str(number)))
        with torch.no_grad():
            model.lm_head.weight[0, 0] = float("nan") if number == 0 else 0.0
    assert (tmp_path / "0").exists() and not (tmp_path / "1").exists() and guard.held == ["save_state"]
    guard.close()
    assert Accelerator.save_state.__module__ == "accelerate.accelerator"


def test_a_scaler_in_a_plain_loop():
    """Single overflows are the scaler's; the guard lets them pass, and its own steps go on."""
    model, guard = tiny.model("gradient"), stablint.TrainingGuard()
    optimizer, scaler = torch.optim.AdamW(model.parameters(), lr=1e-3), torch.amp.GradScaler("cpu", init_scale=2.0**12)
    guard.watch(model)
    for batch in batches():
        optimizer.zero_grad()
        loss = model(**batch).loss
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        assert guard.check(loss=loss, model=model, norm=norm, optimizer=optimizer, scaler=scaler)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**11 and tiny.is_finite(model.parameters()) and not guard.signs


def test_no_gradient_and_no_loss_is_told():
    """All labels masked: the loss is NaN, the gradients are 0, and nothing is learnt."""
    model, guard = tiny.model(), stablint.TrainingGuard(patience=3)
    guard.watch(model)
    with pytest.raises(stablint.TrainingStopped, match="a gradient of 0 in 3 steps running"):
        for batch in batches(None):
            model.zero_grad()
            loss = model(input_ids=batch["input_ids"], labels=torch.full_like(batch["labels"], -100)).loss
            loss.backward()
            guard.check(loss=loss, model=model)


def test_lightning_whose_step_calls_the_model_inside(tmp_path):
    """As most do that train a model of transformers: the module has no forward pass of its own."""
    lightning = pytest.importorskip("pytorch_lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.inner = tiny.model("forward")

        def training_step(self, batch, number):
            return self.inner(**batch).loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    module, guard = Module(), stablint.TrainingGuard()
    trainer = lightning.Trainer(
        accelerator="cpu", max_steps=8, logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=str(tmp_path), callbacks=[guard.lightning()],
    )  # fmt: skip
    with pytest.raises(stablint.TrainingStopped) as stopped:
        trainer.fit(module, torch.utils.data.DataLoader(batches(), batch_size=None))
    assert tiny.is_finite(module.parameters())
    assert stopped.value.module == "inner.model.layers.1.mlp"


@pytest.mark.parametrize("action", ACTIONS)
def test_lightning(tmp_path, action):
    lightning = pytest.importorskip("pytorch_lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.inner = tiny.model("forward")

        def forward(self, **batch):
            return self.inner(**batch)

        def training_step(self, batch, number):
            return self(**batch).loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    module, guard = Module(), stablint.TrainingGuard(on_nan=action)
    trainer = lightning.Trainer(
        accelerator="cpu", max_steps=8, logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=str(tmp_path), gradient_clip_val=1.0, callbacks=[guard.lightning()],
    )  # fmt: skip
    loader = torch.utils.data.DataLoader(batches(), batch_size=None)
    stopped = None
    try:
        trainer.fit(module, loader)
    except stablint.TrainingStopped as error:
        stopped = error
    assert tiny.is_finite(module.parameters())
    if action == "raise":
        assert stopped is not None and stopped.module == "inner.model.layers.1.mlp"
    elif action == "stop":
        assert guard.stopped and trainer.global_step <= tiny.STEP
    else:
        assert guard.skipped == 1 and trainer.global_step == 8


# --- TRL ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ACTIONS)
def test_trl_sft(tmp_path, action):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(n): n for n in range(100)}, unk_token="0"))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="0", eos_token="2", unk_token="0"
    )
    rows = datasets.Dataset.from_list([{"input_ids": row["input_ids"]} for row in tiny.Rows()])
    args = trl.SFTConfig(
        output_dir=str(tmp_path), per_device_train_batch_size=tiny.ROWS, max_steps=12, use_cpu=True, bf16=False, report_to=[], save_steps=2,
        save_total_limit=1, logging_strategy="no", disable_tqdm=True, gradient_checkpointing=False, learning_rate=1e-3,
        train_sampling_strategy="sequential",
    )  # fmt: skip
    model = tiny.model("forward")
    trainer = trl.SFTTrainer(model=model, args=args, train_dataset=rows, processing_class=tokenizer)
    guard, stopped = guarded(trainer, on_nan=action)
    judged(tmp_path, model.parameters(), guard, stopped, action, tiny.NAMED["forward"], trainer.state.global_step)


# --- processes ----------------------------------------------------------------------------------------------------------------------

PROGRAM = Path(__file__).parent / "guarded_program.py"


BUILT_WITHIN = 900  # seconds: two files of C++ with vector instructions, on cores with other work


def launched(folder, processes: int, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    base = [sys.executable]
    if processes > 1:
        base += ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    roots = [str(Path(stablint.__file__).parents[1]), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [*base, str(PROGRAM), str(folder), str(processes), *words], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(roots), "OMP_NUM_THREADS": "1", **environment},
    )  # fmt: skip


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("processes", [1, 2])
def test_exit_status_and_all_processes_agree(tmp_path, processes, action):
    """The marked row is in the batch of the last process only."""
    done = launched(tmp_path, processes, action)
    assert (done.returncode == 0) == (action != "raise"), done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if line.startswith("RANK")]
    assert len(said) == processes, done.stdout + done.stderr[-3000:]
    for line in said:
        assert "finite=True" in line
        if action != "skip":
            assert "module=model.layers.1.mlp" in line
    saved = tiny.checkpoints(tmp_path)
    assert all(saved.values()) and ("checkpoint-6" in saved if action != "skip" else "checkpoint-8" in saved)


@pytest.fixture(scope="session")
def extensions(tmp_path_factory) -> Path:
    """What DeepSpeed compiles when it is first used on a CPU, minutes on a busy machine: built once, before any training waits for it, and in a folder
    of its own, since a build that was ended elsewhere leaves a lock behind for which the next one waits without end."""
    pytest.importorskip("deepspeed")
    if shutil.which("c++") is None:
        pytest.skip("no compiler of C++, without which DeepSpeed does not run on a CPU")
    folder = tmp_path_factory.mktemp("extensions")
    build = "from deepspeed.accelerator import get_accelerator; get_accelerator().create_op_builder('ShareMemCommBuilder').load()"
    done = subprocess.run(
        [sys.executable, "-c", build], capture_output=True, text=True, timeout=BUILT_WITHIN,
        env={**os.environ, "TORCH_EXTENSIONS_DIR": str(folder), "DS_ACCELERATOR": "cpu"},
    )  # fmt: skip
    assert done.returncode == 0, f"DeepSpeed's extension for the CPU was not built:\n{done.stderr[-3000:]}"
    return folder


@pytest.mark.parametrize(("poison", "action"), [("forward", "raise"), ("forward", "skip"), ("gradient", "raise")])
@pytest.mark.parametrize("stage", ["0", "2"])
def test_deepspeed_on_cpu(tmp_path, extensions, poison, action, stage):
    """It steps inside `backward`: a loss that is lost is seen before that; a gradient alone only behind it, and the checkpoint is kept from it."""
    alone = {
        "TORCH_EXTENSIONS_DIR": str(extensions),
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29563",
    }
    done = launched(tmp_path, 1, action, poison, stage, **alone, DS_ACCELERATOR="cpu")
    assert (done.returncode == 0) == (action != "raise"), done.stderr[-3000:]
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("RANK"))
    if poison == "forward":
        assert "finite=True" in said
        assert action == "skip" or "module=model.layers.1.mlp" in said
    else:
        told = "is not taken" if stage == "0" else "was taken before it could be read"  # 0 calls torch's optimizer
        assert told in done.stderr, done.stderr[-3000:]
    saved = tiny.checkpoints(tmp_path)
    assert all(saved.values()) and ("checkpoint-6" in saved if action != "skip" else "checkpoint-8" in saved)


def test_words_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="on_nan"):
        stablint.TrainingGuard(on_nan="explode")
    with pytest.raises(ValueError, match="lazy"):
        stablint.TrainingGuard(on_nan="skip", lazy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stablint.TrainingGuard(on_nan="stop").cost == 0.0
