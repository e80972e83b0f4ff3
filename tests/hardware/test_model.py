"""What a name or a config.json tells about a model."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stablint.base import knowledge
from stablint.models import nature as model
from stablint.models.names import component, quantised, tokens
from stablint.models.nature import describe, evidence, from_config

# name → model_type, parameters in billions, training in fp16, quantised already
NAMES = [
    ("Qwen/Qwen2-7B-Instruct", "qwen2", 7.62, "unsafe", None),
    ("qwen2.5vl", "qwen2_5_vl", None, "risky", None),
    ("qwen2vl", "qwen2_vl", None, "risky", None),
    ("my-org/qwen2-7b-sft-v3", "qwen2", 7.62, "unsafe", None),
    ("./models/Qwen2-7B-Instruct", "qwen2", 7.62, "unsafe", None),
    ("/data/models--Qwen--Qwen2-7B/snapshots/0123456789abcdef0123", "qwen2", 7.62, "unsafe", None),
    ("Qwen2-1.5B-Instruct", "qwen2", 1.54, "risky", None),
    ("Qwen2", "qwen2", None, "risky", None),
    ("trl-internal-testing/tiny-Qwen3ForCausalLM", "qwen3", None, "unknown", None),
    ("Qwen1.5-14B-Chat", "qwen2", 14.2, "unknown", None),
    ("saves/Qwen2.5-72B-Instruct/lora", "qwen2", 72.7, "risky", None),
    ("qwen2_5-7b", "qwen2", 7.62, "risky", None),
    ("Qwen/Qwen2.5-32B-Instruct-AWQ", "qwen2", 32.8, "risky", "awq"),
    ("Qwen2-VL-7B", "qwen2_vl", 8.29, "risky", None),
    ("Qwen2.5-VL", "qwen2_5_vl", None, "risky", None),
    ("Qwen-7B-Chat", "qwen", 7.72, "unknown", None),
    ("Qwen-14B-Chat-Int4", "qwen", 14.2, "unknown", "gptq"),
    ("Qwen/Qwen-1_8B", "qwen", 1.84, "unknown", None),
    ("unsloth/Qwen3-14B-unsloth-bnb-4bit", "qwen3", 14.8, "unknown", "bitsandbytes"),
    ("Qwen/Qwen3-30B-A3B", "qwen3_moe", 30.5, "unsafe", None),
    ("Qwen2-57B-A14B-Instruct", "qwen2_moe", 57.4, "unknown", None),
    ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama", 8.03, "unknown", "bitsandbytes"),
    ("NousResearch/Meta-Llama-3-8B", "llama", 8.03, "unknown", None),
    ("llama3", "llama", None, "unknown", None),
    ("TheBloke/Llama-2-7B-GPTQ", "llama", 6.74, "risky", "gptq"),
    ("llama2_7b", "llama", 6.74, "risky", None),
    ("models/llama/7b", "llama", 6.74, "unknown", None),
    ("llama-7b-hf", "llama", 6.74, "unknown", None),
    ("llama", "llama", None, "unknown", None),
    ("vicuna-7b-v1.5", "llama", 6.74, "risky", None),
    ("vicuna-7b-v1.1", "llama", 6.74, "unknown", None),
    ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", "llama", 1.10, "fine", None),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen2", 7.62, "risky", None),
    ("deepseek-ai/DeepSeek-R1", "deepseek_v3", 671, "unknown", "fp8"),
    ("unsloth/DeepSeek-R1-BF16", "deepseek_v3", 671, "unknown", None),
    ("openai/gpt-oss-20b", "gpt_oss", 20.9, "risky", "mxfp4"),
    ("mistralai/Mixtral-8x7B-v0.1", "mixtral", 46.7, "unknown", None),
    ("alignment-handbook/zephyr-7b-sft-full", "mistral", 7.24, "unknown", None),
    ("HuggingFaceH4/zephyr-7b-gemma-sft-v0.1", "gemma", 8.54, "risky", None),
    ("google/gemma-2-9b-it", "gemma2", 9.24, "unsafe", None),
    ("google/gemma-3-1b-it", "gemma3_text", 1.0, "unsafe", None),
    ("google/gemma-3-4b-it", "gemma3", 4.3, "unsafe", None),
    ("google/gemma-3n-E2B-it", "gemma3n", 5.44, "unsafe", None),
    ("unsloth/gemma-4-E2B-it", "gemma4", 5.12, "risky", None),
    ("CohereForAI/c4ai-command-r-plus", "cohere", 103.8, "unknown", None),
    ("CohereForAI/c4ai-command-r7b-12-2024", "cohere2", 8.03, "unknown", None),
    ("ibm-granite/granite-3.0-3b-a800m-instruct", "granitemoe", 3.37, "unknown", None),
    ("ibm-granite/granite-8b-code-instruct", "llama", 8.05, "unknown", None),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron_h", 8.89, "unknown", None),
    ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "nemotron-nas", 49.9, "unknown", None),
    ("tencent/Hunyuan-A13B-Instruct", "hunyuan_v1_moe", 80.4, "unknown", None),
    ("llava-hf/llava-onevision-qwen2-7b-ov-hf", "llava_onevision", 8.03, "unknown", None),
    ("openbmb/MiniCPM-Llama3-V-2_5", "minicpmv", 8.54, "unknown", None),
    ("OpenGVLab/InternVL3-8B-hf", "internvl", 8, "unknown", None),
    ("mistralai/Ministral-3-8B-Instruct-2512", "mistral3", 8.8, "unknown", None),
    ("HuggingFaceTB/SmolVLM-Instruct", "idefics3", 2.25, "unknown", None),
    ("TheBloke/SOLAR-10.7B-Instruct-v1.0-AWQ", "llama", 10.7, "unknown", "awq"),
    ("berkeley-nest/Starling-LM-7B-alpha", "mistral", 7.24, "unknown", None),
    ("NousResearch/Hermes-4-14B", "qwen3", 14.8, "unknown", None),
    ("user/llama31-8b-dpo", "llama", 8.03, "unknown", None),
    ("../outputs/qwen25-7b-sft", "qwen2", 7.62, "risky", None),
    ("t5-large", "t5", 0.74, "unsafe", None),
    ("t5-base", "t5", 0.22, "risky", None),
    ("google/flan-t5-xl", "t5", 2.85, "unsafe", None),
    ("google/mt5-base", "mt5", 0.58, "unsafe", None),
    ("chatglm-6b", "chatglm", 6.17, "unknown", None),
    ("THUDM/chatglm3-6b", "chatglm", 6.24, "unknown", None),
    ("glm-4-9b-chat", "chatglm", 9.4, "unsafe", None),
    ("THUDM/GLM-4-9B-0414", "glm4", 9.4, "unsafe", None),
    ("baichuan-7B", "baichuan", 7.0, "fine", None),
    ("Baichuan2-13B-Chat", "baichuan", 13.9, "risky", None),
    ("hiyouga/Baichuan2-7B-Base-LLaMAfied", "llama", 7.5, "risky", None),
    ("MiniCPM-V-2_6", "minicpmv", 8.1, "risky", None),
    ("internlm/internlm2-chat-7b", "internlm2", 7.74, "unknown", None),
    ("microsoft/phi-2", "phi", 2.78, "risky", None),
    ("facebook/opt-1.3b", "opt", 1.32, "fine", None),
    ("bigscience/bloomz-1b7", "bloom", 1.72, "unknown", None),
    ("EleutherAI/gpt-neo-2.7B", "gpt_neo", 2.65, "risky", None),
    ("gpt2", "gpt2", 0.124, "unknown", None),
    ("gpt2-medium", "gpt2", 0.355, "unknown", None),
    ("stabilityai/stablelm-2-1_6b", "stablelm", 1.64, "unknown", None),
    ("Qwen/Qwen3.5-4B", "qwen3_5", 4.66, "unsafe", None),
    ("Qwen/Qwen3-Coder-Next", "qwen3_next", 79.7, "unknown", None),
    ("unsloth/phi-4-unsloth-bnb-4bit", "llama", 14.7, "unknown", "bitsandbytes"),  # stored with Llama's layers
    ("microsoft/phi-4", "phi3", 14.7, "unknown", None),
    ("unsloth/mistral-bnb-4bit", "mistral", 7.24, "unknown", "bitsandbytes"),
    ("LiquidAI/LFM2-24B-A2B", "lfm2_moe", 23.8, "unknown", None),
    ("LiquidAI/LFM2.5-1.2B-Instruct", "lfm2", 1.17, "unknown", None),
    ("ibm-granite/granite-4.0-h-small", "granitemoehybrid", 32.2, "unknown", None),
    ("ibm-granite/granite-vision-3.2-2b", "llava_next", 2.98, "unknown", None),
    ("allenai/Olmo-3.1-32B-Instruct", "olmo3", 32.2, "unknown", None),
    ("OpenGVLab/InternVL3_5-4B-HF", "internvl", 4.73, "unknown", None),
    ("OpenGVLab/InternVL2_5-8B", "internvl_chat", 8.08, "unknown", None),
    ("LGAI-EXAONE/EXAONE-4.0.1-32B", "exaone4", 32.0, "unknown", None),
    ("meta-llama/Llama-Guard-3-11B-Vision", "mllama", 10.7, "unknown", None),
    ("openai/whisper-large-v3-turbo", "whisper", 0.809, "unknown", None),
    ("Snowflake/snowflake-arctic-embed-l", "bert", 0.335, "unknown", None),
    ("facebook/m2m100_418M", "m2m_100", 0.484, "unknown", None),  # `2m` is no size
    ("microsoft/DialoGPT-medium", "gpt2", 0.355, "unknown", None),
    ("baichuan-inc/Baichuan-M2-32B", "qwen2", 32.8, "unknown", None),
]
# Names of no known family: a size is a size, and nothing else is told.
STRANGERS = [
    ("deepcogito/preview-qwen-30B", 30.0),
    ("someone/our-qwen-7b", 7.0),
    ("someone/gemma-9b-ft", 9.0),
    ("foo/exaone-33b", 33.0),  # of which generation?
    ("someone/foo-13b", 13.0),
    ("Qwen4-7B", 7.0),
    ("deepseek-r1-7b", 7.0),
    ("my-opt-run-7b", 7.0),
]
NO_NAMES = [
    "foo",
    "trl-internal-testing/tiny-Qwen2ForCausalLM-2.5",
    "output/checkpoint-500",
    "${MODEL}",
    "",
    "saves/alpaca-run",
    "RedHatAI/Qwen3-8B-speculator.eagle3",  # drafts for it
    "z-lab/Qwen3.5-9B-DFlash",
    "./",
    "/",
]

# name → modules that LoRA finds, and one that it does not
TARGETS = [
    ("THUDM/chatglm2-6b", {"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"}, "q_proj"),
    ("baichuan-inc/Baichuan2-7B-Chat", {"W_pack", "o_proj", "gate_proj", "up_proj", "down_proj"}, "q_proj"),
    ("baichuan-7b-llamafied", {"q_proj", "v_proj"}, "W_pack"),
    ("Qwen/Qwen-7B", {"c_attn", "c_proj", "w1", "w2"}, "q_proj"),
    ("internlm2-7b", {"wqkv", "wo", "w1", "w2", "w3"}, "q_proj"),
    ("microsoft/Phi-3-mini-4k-instruct", {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}, "q_proj"),
    ("microsoft/phi-2", {"q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"}, "gate_proj"),
    ("tiiuae/falcon-7b", {"query_key_value", "dense"}, "q_proj"),
    ("mosaicml/mpt-7b", {"Wqkv", "out_proj"}, "q_proj"),
    (
        "Qwen/Qwen2-7B",
        {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head", "embed_tokens"},
        "W_pack",
    ),
    ("mistralai/Mixtral-8x7B-v0.1", {"q_proj", "w1", "w2", "w3", "gate"}, "W_pack"),
    ("google/vit-base-patch16-224", {"query", "value"}, "gate_proj"),
]

LLAMA_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
QWEN2_7B = LLAMA_8B | {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_hidden_layers": 28,
    "intermediate_size": 18944,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
}
MIXTRAL = LLAMA_8B | {"model_type": "mixtral", "vocab_size": 32000, "num_local_experts": 8}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}
T5_BASE = {
    "model_type": "t5",
    "d_model": 768,
    "d_ff": 3072,
    "d_kv": 64,
    "num_heads": 12,
    "num_layers": 12,
    "vocab_size": 32128,
}
CHATGLM3 = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "num_layers": 28,
    "ffn_hidden_size": 13696,
    "num_attention_heads": 32,
    "multi_query_group_num": 2,
    "kv_channels": 128,
    "add_qkv_bias": True,
    "padded_vocab_size": 65024,
}
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "num_attention_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "vocab_size": 129280,
    "quantization_config": {"quant_method": "fp8"},
}
CONFIGS = [
    (LLAMA_8B, 8_030_261_248),
    (QWEN2_7B, 7_615_616_512),
    (MIXTRAL, 46_702_792_704),
    (GPT2, 124_439_808),
    (T5_BASE, 222_903_552),
    (CHATGLM3, 6_243_584_000),
    (DEEPSEEK_V3, 671_026_404_352),
]


@pytest.mark.parametrize(("name", "kind", "billions", "fp16", "method"), NAMES)
def test_a_name_tells_what_the_model_is(name, kind, billions, fp16, method):
    facts = describe(name)
    assert facts is not None
    assert facts["model.type"] == kind
    assert facts["model.fp16_training"] == fp16
    assert facts.get("model.quant_method") == method
    parameters = facts.get("model.parameters")
    assert (parameters is None) if billions is None else parameters == pytest.approx(billions * 1e9, rel=0.02)


@pytest.mark.parametrize(("name", "billions"), STRANGERS)
def test_an_unknown_family_is_only_as_large_as_it_says(name, billions):
    assert describe(name) == {"model.parameters": int(billions * 1e9)}


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_names_no_model_tells_nothing(name):
    assert describe(name) is None


@pytest.mark.parametrize(("name", "there", "missing"), TARGETS)
def test_the_modules_that_lora_can_target(name, there, missing):
    modules = set(describe(name)["model.linear_modules"])
    assert there <= modules
    assert missing not in modules


def test_every_checkpoint_is_of_its_own_line_and_size():
    named = {number for rows in knowledge.rows("models/names").values() for _, number, _ in rows}
    for checkpoint, (number, label, *_) in knowledge.rows("models/ids").items():
        line = knowledge.rows("models/lines")[str(number)]
        stored = line["sizes"][label]
        derived = ["someone/" + checkpoint.rpartition("/")[2] + "-sft-v3"] if number in named else []
        for name in (checkpoint, *derived):
            facts = describe(name)
            assert facts["model.type"] == line["type"], name
            if stored and stored[0]:
                assert facts["model.parameters"] == pytest.approx(stored[0], rel=0.1), name


def test_every_type_has_facts():
    assert len(knowledge.rows("models/types")) >= 114
    for kind, facts in knowledge.rows("models/types").items():
        assert facts["model.type"] == kind
        assert from_config({"model_type": kind})["model.type"] == kind


def test_what_is_true_of_one_checkpoint_is_not_said_of_derivatives():
    assert describe("meta-llama/Llama-2-7b-chat-hf")["model.gated"] is True
    assert "model.gated" not in describe("NousResearch/Llama-2-7b-chat-hf")
    assert describe("Qwen/Qwen2-7B-Instruct")["model.max_positions"] == 32768
    assert describe("Qwen/Qwen2-7B")["model.max_positions"] == 131072


@pytest.mark.parametrize(("config", "parameters"), CONFIGS)
def test_parameters_are_counted_from_a_config(config, parameters):
    assert from_config(config)["model.parameters"] == pytest.approx(parameters, rel=0.001)


def test_a_config_tells_more_than_a_count():
    facts = from_config(DEEPSEEK_V3 | {"torch_dtype": "bfloat16"})
    assert facts["model.is_moe"] is True and facts["model.experts"] == 256
    assert facts["model.quant_method"] == "fp8"
    assert facts["model.native_dtype"] == "bfloat16"
    assert facts["model.layers"] == 61


def test_a_shape_that_two_lines_share_gets_the_milder_judgement():
    assert from_config(QWEN2_7B)["model.fp16_training"] == "risky"  # Qwen2 or Qwen2.5
    assert from_config(QWEN2_7B | {"_name_or_path": "Qwen/Qwen2-7B"})["model.fp16_training"] == "unsafe"
    assert from_config(LLAMA_8B)["model.fp16_training"] == "unknown"


def test_the_text_part_of_a_multimodal_config_is_read():
    facts = from_config(
        {
            "model_type": "llava",
            "text_config": LLAMA_8B,
            "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24},
        }
    )
    assert facts["model.type"] == "llava"
    assert facts["model.hidden"] == 4096
    assert facts["model.parameters"] > 8_030_261_248


def test_hybrid_architectures_are_not_counted_by_a_formula_that_is_not_theirs():
    for kind in ("falcon_h1", "recurrent_gemma", "nemotron-nas"):
        assert "model.parameters" not in from_config(LLAMA_8B | {"model_type": kind})


def test_a_judgement_on_fp16_names_its_sources():
    for name in ("Qwen/Qwen2-7B-Instruct", "t5", "gemma3_text", "meta-llama/Llama-2-7b-hf"):
        found = evidence(name)
        assert found is not None and found.note
        assert all(source.startswith("https://") for source in found.sources)
    assert evidence("Qwen/Qwen2-7B").training == "unsafe"
    assert evidence("Qwen/Qwen2-0.5B").training == "risky"
    assert evidence("meta-llama/Meta-Llama-3-8B") is None


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("Qwen/Qwen2-7B", "Qwen2-7B"),
        ("saves/qwen3-4b/full/sft", "qwen3-4b"),
        ("output/llama3/checkpoint-500", "llama3"),
        ("llama/7B", "llama-7B"),
        ("C:\\models\\phi-2", "phi-2"),
    ],
)
def test_the_part_of_a_path_that_names_the_model(path, part):
    assert component(path)[0] == part


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("x-AWQ", "awq"),
        ("x-GPTQ-Int4", "gptq"),
        ("x-Int8", "gptq"),
        ("x-bnb-4bit", "bitsandbytes"),
        ("x-GGUF", "gguf"),
        ("x-FP8", "fp8"),
        ("x-quantized.w8a8", "compressed-tensors"),
        ("x-MLX-4bit", "mlx"),
        ("x-int4-AutoRound", "auto-round"),
        ("x-exl2", "exl2"),
        ("x-fp16", None),
        ("x-128k", None),
    ],
)
def test_suffixes_of_quantised_checkpoints(name, method):
    assert quantised(tokens(name)) == method


@given(st.text(max_size=80))
def test_no_name_breaks_it(name):
    facts = describe(name)
    assert facts is None or facts
    evidence(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*LLAMA_8B, *DEEPSEEK_V3, "text_config", "vision_config"]), inner)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from([*LLAMA_8B, *GPT2, *T5_BASE, *DEEPSEEK_V3, "text_config", "vision_config", "_name_or_path"]),
        JSON,
    )
)
def test_no_config_breaks_it(config):
    facts = from_config(config)
    assert facts.get("model.parameters", 1) > 0


@example("llama", {
    "num_hidden_layers": 1, "intermediate_size": 1, "num_attention_heads": 1, "q_lora_rank": 0, "vocab_size": 1, "n_routed_experts": 4,
    "kv_lora_rank": 0, "hidden_size": 1, "num_key_value_heads": 1, "first_k_dense_replace": 5, "moe_intermediate_size": 1, "n_shared_experts": -5,
})  # fmt: skip
@given(
    st.sampled_from(["llama", "t5", "gpt2", "mixtral", "deepseek_v3", "gpt_oss", "bloom"]),
    st.dictionaries(st.sampled_from([*LLAMA_8B, *DEEPSEEK_V3, *T5_BASE]), st.integers(-5, 10**6)),
)
def test_no_dimensions_break_it(kind, dimensions):
    count = from_config({**dimensions, "model_type": kind}).get("model.parameters")
    assert count is None or count > 0


def test_what_was_worked_out_when_compiling_is_what_the_name_tells() -> None:
    for checkpoint, (number, label, own, _) in knowledge.rows("models/ids").items():
        facts = model._facts(number, label, tokens(component(checkpoint)[0]), None) | model._row(model.OWN, own)
        assert list((describe(checkpoint) or {}).items()) == list(facts.items()), checkpoint
