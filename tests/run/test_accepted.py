"""Which keys a framework's reader takes, release by release."""

from __future__ import annotations

from itertools import pairwise

import pytest

from stablint.base.knowledge import load
from stablint.hazard.hints import is_meant_by
from stablint.run.releases.pep440 import release_key
from stablint.run.releases.reader_keys import Reader, reader, synonyms

# a section whose keys the first release took unseen, a key of a plugin, one that only the next release will have
MADE = Reader(
    "made.file",
    {
        "library": "made",
        "bases": [],
        "always": ["kept"],
        "releases": [[list(release_key(text)), text] for text in ("1.0", "1.1", "2.0", "2.1.dev0")],
        "ahead": [3],
        "present": [[0, -1]],
        "keys": {
            "kept": [[0, -1]],
            "gone": [[0, 0]],
            "late": [[2, -1]],
            "back": [[0, 0], [2, -1]],
            "own": [[1, -1, "made.plugin"]],
            "section": [[0, -1]],
            "section.inner": [[1, -1]],
            "next": [[3, -1]],
        },
    },
)
TAKEN = [
    ("kept", "1.0", True), ("kept", "1.5", True), ("kept", "0.9", None), ("gone", "1.0", True), ("gone", "1.1", False), ("late", "1.1", False),
    ("late", "2.0.3", True), ("back", "1.1", False), ("back", "2.0", True), ("never", "2.0", False), ("own", "2.0", False),
    ("section.inner", "2.0", True), ("section.other", "2.0", False), ("section.other", "1.0", True), ("next", "2.0", False),
]  # fmt: skip


@pytest.mark.parametrize(("key", "release", "taken"), TAKEN)
def test_what_a_release_takes(key: str, release: str, taken: bool | None) -> None:
    assert MADE.takes(key, release_key(release), stated=True) is taken


def test_without_a_stated_release_the_next_one_counts() -> None:
    assert MADE.takes("next", release_key("2.0"), stated=False) is True
    assert MADE.takes("gone", release_key("2.0"), stated=False) is False


def test_turns_lie_where_the_answer_changes() -> None:
    assert MADE.change_points("back") == {("made", release_key("1.1")), ("made", release_key("2.0"))}
    assert MADE.change_points("kept") == frozenset()
    assert MADE.change_points("section.other") == {("made", release_key("1.1"))}


def test_when_it_came_and_went() -> None:
    assert MADE.since("late", release_key("1.0")) == "2.0"
    assert MADE.since("gone", release_key("2.0")) is None
    assert MADE.removed_in("gone", release_key("2.0")) == "1.1"
    assert MADE.removed_in("late", release_key("1.0")) is None
    assert MADE.plugin("own", release_key("2.0")) == "made.plugin"
    assert MADE.owned("own", ("made.plugin.Plugin",)) and not MADE.owned("own", ("made.other",))


READ = ("llamafactory.train", "llamafactory.infer", "axolotl.config", "ms-swift.train", "ms-swift.megatron", "accelerate.launch", "openrlhf.train_sft",
        "accelerate.ClusterConfig", "trl.SFTConfig")  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_readers_that_were_read(name: str) -> None:
    found = reader(name)
    assert found is not None
    assert found.library == name.partition(".")[0]
    assert found.names(release_key("999"))
    assert all(found.takes(key, release_key("999"), stated=True) for key in found.always)


def test_a_reader_that_nobody_read() -> None:
    assert reader("llamafactory.nothing") is None


def test_a_synonym_is_a_name_of_that_framework_in_some_release() -> None:
    """No group names a key that its framework never had."""
    owners = {
        "llamafactory": ("llamafactory.train", "transformers.Seq2SeqTrainingArguments"), "axolotl": ("axolotl.config",),
        "ms-swift": ("ms-swift.train", "transformers.Seq2SeqTrainingArguments"),
        "trl": ("trl.SFTConfig", "trl.DPOConfig", "trl.ModelConfig", "trl.ScriptArguments", "transformers.TrainingArguments"),
        "openrlhf": ("openrlhf.train_sft", "openrlhf.train_ppo_ray"), "litgpt": ("litgpt.finetune_lora",), "torchtune": ("torchtune.components",),
    }  # fmt: skip
    beside = {"torchtune": "models.llama3.lora_llama3_8b."}  # its names are those of components
    groups = [{**group, "values-differ": []} for groups in load("synonyms").values() for group in groups]
    for group in groups:
        for library, names in group.items():
            readers = [found for owner in owners.get(library, ()) if (found := reader(owner)) is not None]
            assert all(any(one.ever(beside.get(library, "") + name) for one in readers) for name in names), (
                library,
                names,
            )


def test_synonyms_are_those_of_the_framework() -> None:
    assert synonyms("cutoff_len", "axolotl") == ("sequence_len",)
    assert synonyms("cutoff_len", "llamafactory") == ()
    assert synonyms("no_such_key", "axolotl") == ()
    assert synonyms("neft_alpha", "llamafactory") == ("neftune_noise_alpha",)
    assert synonyms("checkpoint_dir", "llamafactory")[0] == "adapter_name_or_path"


def test_a_name_whose_values_differ_is_told_and_not_written() -> None:
    assert synonyms("load_in_4bit", "llamafactory") == ("quantization_bit",)
    assert synonyms("load_in_4bit", "llamafactory", alike=True) == ()
    assert synonyms("quantization_bit", "ms-swift", alike=True) == ("quant_bits",)
    assert synonyms("use_flash_attn", "ms-swift", alike=True) == ()


def test_no_name_that_somebody_has_is_written_as_another() -> None:
    """Every setting of every framework, before every other framework: what resembles it is not put in its place."""
    names = sorted(set(load("reader-names")) | set(load("field-names")))
    near = [
        (one, other)
        for pair in [*pairwise(names), *_ALIKE]
        for one, other in [pair, pair[::-1]]
        if is_meant_by(one, other, written=True) and one.replace("_", "").lower() != other.replace("_", "").lower()
    ]
    assert near == [] and len(names) > 3000


_ALIKE = [
    ("neft_alpha", "eaft_alpha"), ("enable_gradient_checkpointing", "disable_gradient_checkpointing"), ("use_dora", "use_mora"),
    ("swanlab_project", "wandb_project"), ("adam_beta3", "adam_beta2"), ("cpo_alpha", "rpo_alpha"), ("val", "eval"),
]  # fmt: skip


def test_what_is_meant_by_a_name() -> None:
    for one, other in _ALIKE:
        assert not is_meant_by(one, other), one
    for one, other in [
        ("learning_rat", "learning_rate"),
        ("gradient_acumulation_steps", "gradient_accumulation_steps"),
        ("loraR", "lora_r"),
    ]:
        assert is_meant_by(one, other, written=True), one
    for one, other in [("max_seq_len", "max_seq_length"), ("tensor_parallel_size", "vllm_tensor_parallel_size")]:
        assert is_meant_by(one, other) and not is_meant_by(one, other, written=True)
