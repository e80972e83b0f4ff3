"""What `mask` hides, and what it must leave alone."""

from __future__ import annotations

import io
import json
import random
import string
from itertools import chain

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stablint import cli
from stablint.report.plain import to_json
from stablint.secrets import exit, masking
from stablint.secrets.keys import conceal
from stablint.secrets.languages import YAML
from stablint.secrets.masking import generated_in, in_name, mask
from stablint.secrets.veil import without_words
from tests.security.planted import FILES, LOG
from tests.security.written import LOGGED, ORDINARY, REACHED, SAID, SCATTERED, WRITTEN

FORTY = "0123456789abcdef0123456789abcdef01234567"


# Put together here, so that no scanner of secrets takes this file for a leak.
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("hub_token: hf_" + "a1B2" * 8, "hf_" + "a1B2" * 8),
        ("export OPENAI_API_KEY=sk-proj-" + "a1B2" * 8, "sk-proj-" + "a1B2" * 8),
        ('{"x": "gh' + "p_" + "a1B2" * 9 + '"}', "p_" + "a1B2" * 9),
        ("WANDB_API_KEY=" + FORTY, FORTY),
        ('"wandb_key": "' + FORTY + '"', FORTY),
        ("https://user:pa55word@example.org/x.git", "pa55word"),
        ("the password Marmalade-1742! is known", "Marmalade-1742"),
    ],
)
def test_tokens_are_known_by_their_shape(text, secret):
    assert secret not in mask(text)
    assert len(mask(text, same_length=True)) == len(text)


HEX, SMALL = "0123456789abcdef", string.ascii_lowercase


@pytest.mark.parametrize(
    ("mark", "signs", "length"),
    [
        ("", HEX, 32), ("", HEX, 40), ("", HEX, 64), ("", HEX.upper(), 32), ("sk-", SMALL, 48), ("sk-", HEX, 32),
        ("hf_", SMALL, 34), ("hf_", string.ascii_letters, 34), ("gsk_", SMALL + string.digits, 52),
    ],
)  # fmt: skip
def test_however_a_key_was_drawn_it_is_known(mark, signs, length):
    """A measure of how a key looks has keys beyond it: of 32 hexadecimal digits some 4% have too few changes from digit to letter."""
    drawn = random.Random(length)
    for _ in range(1_000):
        key = mark + "".join(drawn.choices(signs, k=length))
        text = f'run = start("{key}")'
        assert key in generated_in(text) or key not in mask(text), key


@pytest.mark.parametrize(
    "text",
    [
        "0" * 31 + "1",
        "deadbeef" * 4,
        "sk-" + "learnbaselineofmondaymorning",
        "hf_" + "internaltestingrandomgpttwo",
        "f" * 40,
        "3f9c07ab52e16d88b04e7a1c9d25f6e3.safetensors",
        "weights_3f9c07ab52e16d88b04e7a1c9d25f6e3.gguf",
    ],
)
def test_long_words_and_what_is_repeated_stay(text):
    assert mask(text) == text
    assert not generated_in(f'run = start("{text}")')


@pytest.mark.parametrize(
    "text",
    [
        "model_name_or_path: mistralai/Mistral-7B-v0.1",
        "revision: " + FORTY,  # a commit, not a key
        "task-specific-learning-rates-are-not-a-token: 1",
        "https://huggingface.co/Qwen/Qwen2-7B@main",
        "hf_dataset_name: true",
    ],
)
def test_what_is_no_secret_stays(text):
    assert mask(text) == text


@given(st.text('xyz"\\é', min_size=3).map(lambda text: f"xyz{text}xyz"))
def test_a_known_secret_survives_in_no_spelling(secret):
    document = {"token": secret}
    for text in (f"token: {secret} #", json.dumps(document), json.dumps(document, ensure_ascii=False)):
        masked = mask(text, frozenset({secret}))
        assert "xyz" not in masked


@pytest.mark.parametrize(
    "text",
    [
        "<password>{}</password>", "<server><username>ada</username><password>{}</password></server>", '<password type="a"> {} </password>',
        "<m:apiKey>{}</m:apiKey>", "<tr><td>hub_token</td><td>{}</td></tr>", "<key>password</key>\n  <string>{}</string>",
    ],
)  # fmt: skip
@pytest.mark.parametrize("secret", ["bergamot", "mango-harbor-quartz", "4907713825"])
def test_an_element_is_a_right_side(text, secret):
    assert secret not in mask(text.format(secret)) and "</" in mask(text.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        "<token>",
        "<b>token</b> <i>counted</i>",
        "<password>${DB_PASSWORD}</password>",
        "<title>tokens</title><p>marked</p>",
    ],
)
def test_an_element_that_holds_no_secret_stays(text):
    assert mask(text) == text


def test_a_set_of_secrets_is_hidden():
    assert conceal("passwords", {"bergamot": None, "x": None}, "…") == "…"
    assert conceal("passwords", {"wandb": "bergamot", "hf": None}, "…") == {"wandb": "…", "hf": None}
    assert conceal("lora", {"r": None}, "…") == {"r": None}
    assert without_words("tokens", {"bergamot": None, "x": None}, "…") == "…"
    assert without_words("tokens", {"r": None}, "…") == {"r": None}


def test_short_values_are_no_secrets():
    assert mask("fp16: true", frozenset({"true"})) == "fp16: true"


def test_json_stays_json():
    secret = 'quote"and\\slash'
    text = json.dumps({"token": secret, "other": 1})
    assert json.loads(mask(text, frozenset({secret}))) == {"token": "********", "other": 1}


WORDS = st.text(st.sampled_from("ab1:,{}[]\"'\\ \n=null-é"), max_size=12)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.just("api_key"), inner, max_size=3),
    max_leaves=8,
)


@given(DATA, st.frozensets(st.text(st.sampled_from("ab1:,{}[]\"' =nul-\\"), min_size=6, max_size=12), max_size=3))
@example({"cell": None}, frozenset({": null"}))
@example({"cell": 1234567}, frozenset({"1234567"}))
def test_data_stay_data_whatever_a_file_calls_a_secret(data, secrets):
    json.loads(mask(to_json(data), secrets, data=True))
    json.loads(mask(json.dumps(data), secrets, data=True))


def test_a_number_that_is_a_secret_is_hidden_in_data_too():
    assert "1234567" not in mask('{"a": 1234567, "b": "x 1234567"}', frozenset({"1234567"}), data=True)


@pytest.mark.parametrize(
    "path, told",
    [
        ("password=marmalade.yaml", ["marmalade"]),
        ("runs/hub_token:marmalade/a.yaml", ["marmalade"]),
        ("hf_token-q7Lw2Zt9Xk4Rv8Nb3Hs6Yd1P/a.yaml", ["q7Lw2Zt9Xk4Rv8Nb3Hs6Yd1P"]),
        ("wandb_key=velvet-orchid.json.bak", ["velvet-orchid"]),
        ("password-reset.py", []),  # words that are joined
        ("token-classification/run_ner.py", []),
        ("max_tokens=2048.yaml", []),
        ("secrets/hub_token.yaml", []),
        ("lr=3e-4_key=value.yaml", []),
    ],
)
def test_a_file_s_name_tells_what_stands_behind_a_key(path: str, told: list[str]) -> None:
    assert list(in_name(path)) == told


@pytest.mark.parametrize("format", ["full", "json", "sarif", "github", "junit", "markdown"])
def test_a_secret_in_a_name_is_printed_nowhere(tmp_path, monkeypatch, capfdbinary, format: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "password=marmalade.yaml").write_text(
        "model_name_or_path: a/b\nstage: sft\nfp16: true\nbf16: true\nlearning_rate: 3\n"
    )
    (tmp_path / "run.sh").write_text("torchrun train.py --deepspeed 'password=marmalade2.json' --fp16 True\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["check", ".", "--jobs", "1", "--output-format", format]) == 1
    told = b"".join(capfdbinary.readouterr())
    assert b"********" in told and b"marmalade" not in told


def test_a_stream_that_was_closed_under_it_closes_in_silence():
    """As Python 3.14 closes what is left at its end, and tells what that raises."""
    inner = io.StringIO()
    guarded = exit._Guarded(inner)
    guarded.write("the last words")
    inner.close()
    with pytest.raises(ValueError):
        guarded.flush()  # what is lost before the end is told
    guarded.close()


def test_a_line_without_a_sign_hides_nothing_whatever_stands_around_it() -> None:
    """Texts of all that is planted, read as YAML: a text of which every line was found quiet has no secret, and the others are searched as ever."""
    written = chain(*WRITTEN.values(), *REACHED.values(), *SCATTERED.values(), LOGGED, SAID, ORDINARY)
    for text in [
        *(file.text for file in FILES),
        LOG,
        *(one.replace("%s", "marmalade9-Tz4pLq9Rk2WmXb7c") for one in written),
    ]:
        masking._QUIET.clear()
        before = masking._scan(text, YAML)
        masking.look_for_signs([text, f"training:\n  {text}\nseed: 42\n"])
        assert masking._scan(text, YAML) == before, text
    masking._QUIET.clear()
    masking.look_for_signs(["seed: 42\nmax_new_tokens: 64\nhub_token: abcdefgh\nlogin:\n"])
    assert {"seed: 42", "max_new_tokens: 64", ""} == masking._QUIET
