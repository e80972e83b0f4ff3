"""Secrets of many vendors are planted in every kind of file; no output of any command holds one. The files stay as they are."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import product

import pytest

import stablint
from stablint.cli import main
from stablint.secrets import commands, shapes
from stablint.secrets.hints import MARKS, may_hold_secret, vocabulary, words_of
from stablint.secrets.keys import is_placeholder, is_secret
from stablint.secrets.languages import PYTHON, SHELL, YAML
from stablint.secrets.marks import marks_in
from stablint.secrets.masking import mask
from stablint.secrets.shapes import _SHORTEST, SHAPES
from tests.pace import cost
from tests.sampling import sampled
from tests.security.planted import ADDRESSES, BY_KEY, FILES, LOG, NUMBER, PRIVATE_KEYS, VENDORS
from tests.security.written import LIKE_GENERATED, LOGGED, ORDINARY, REACHED, SAID, SCATTERED, WRITTEN

FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson")
NAMES = [file.name for file in FILES]
SOUND = [file.name for file in FILES if not file.broken]
SECRETS = sorted({secret for file in FILES for secret in file.secrets})
COMMANDS = {
    **{f"check, {format}": ["check", ".", "--output-format", format] for format in FORMATS},
    "check, every rule": ["check", ".", "--min-evidence", "folklore", "--gpu", "V100-32GB", "--fail-on", "info"],
    "check, in colour": ["check", ".", "--color", "always"],
    "check, facts": ["check", ".", "--show-facts"],
    "check, verbose": ["check", ".", "--verbose", "--debug"],
    "check, statistics": ["check", ".", "--statistics"],
    "check, patch": ["check", ".", "--diff", "--unsafe-fixes", "--select", "F106"],
    "show": ["show", *SOUND],
    "show, json": ["show", *SOUND, "--output-format", "json"],
    "diff": ["diff", "hf.yaml", "plain.yaml"],
    "diff, json": ["diff", "hf.yaml", "plain.yaml", "--output-format", "json"],
    "fit": ["fit", "hf.yaml", "run.sh", "--gpu", "T4"],
    "fit, json": ["fit", "factory.yaml", "litgpt.yaml", "--gpu", "RTX 4090 x4", "--output-format", "json"],
    "advise": ["advise", "hf.yaml", "axolotl.yaml", "train.py", "run.sh", "--gpu", "A100-80GB"],
    "advise, json": ["advise", "factory.yaml", "--gpu", "A100-80GB", "--output-format", "json"],
    "diagnose": ["diagnose", "train.txt", "hf.yaml", "run.sh"],
    "diagnose, json": ["diagnose", "train.txt", "train.py", "--output-format", "json"],
    "diagnose, markdown": ["diagnose", "train.txt", "--output-format", "markdown"],
    "diagnose, patch": ["diagnose", "train.txt", "hf.yaml", "--diff", "--unsafe-fixes"],
    "watch": ["watch", "train.txt", "hf.yaml", "--idle", "0", "--interval", "0.1"],
    "migrate": ["migrate", "hf.yaml", "ds.json", "run.sh", "--diff", "--with", "transformers==5.0.0"],
}  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    for file in FILES:
        (tmp_path / file.name).write_text(file.text, encoding="utf-8")
    (tmp_path / "train.txt").write_text(LOG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leaked(output: str, secrets=SECRETS) -> list[str]:
    """The secrets of which the output holds the whole, the end, or the first six characters that say something."""
    return [secret for secret in secrets if any(part in output for part in parts(secret))]


PREFIXES = (
    "sk-proj-",
    "sk-ant-api03-",
    "sk-or-v1-",
    "gho_",
    "lsv2_pt_",
    "sk_live_",
    "xoxb-123456789012-",
    "123456789:AA",
    "glpat-",
    "glsa_",
    "dckr_pat_",
    "ms-",
    "pypi-AgEI",
    "eyJhcGlfYWRkcmVzcyI6",
)


@cache
def parts(secret: str) -> tuple[str, ...]:
    known = next((mark for mark in (*PREFIXES, *MARKS) if secret.startswith(mark)), "")
    body = secret[len(known) :]
    return secret, body[:6], secret[-10:]


def said(capsys, words) -> str:
    with suppress(SystemExit):
        main(words)
    return "".join(capsys.readouterr())


def test_the_files_are_such_that_their_secrets_could_leak(project, capsys):
    """Each is a training configuration, or a broken one, and holds what it is said to hold."""
    main(["check", ".", "--output-format", "json"])
    statuses = {file["file"]: file["status"] for file in json.loads(capsys.readouterr().out)["files"]}
    assert {name for name, status in statuses.items() if status == "checked"} >= set(SOUND)
    for file in FILES:
        assert set(leaked(file.text, file.secrets)) == set(file.secrets)
    assert len(VENDORS) >= 60 and len(BY_KEY) >= 15 and len(ADDRESSES) >= 8


@pytest.mark.parametrize("name", sampled(COMMANDS, 8))
def test_no_output_holds_a_secret(project, name, capsys):
    output = said(capsys, COMMANDS[name])
    assert output
    assert not leaked(output)
    for file in FILES:
        assert (project / file.name).read_text(encoding="utf-8") == file.text


@pytest.mark.parametrize(
    "words", (["fit", "factory.yaml", "--gpu", "T4"], ["diagnose", "train.txt", "hf.yaml"]), ids=["fit", "diagnose"]
)
def test_no_picture_holds_a_secret(project, words, capsys):
    said(capsys, [*words, "--plot", "run.svg"])
    if (project / "run.svg").exists():
        assert not leaked((project / "run.svg").read_text(encoding="utf-8"))


def test_a_patch_shows_a_change_only_where_no_secret_stands_beside_it(project, capsys):
    main(["check", ".", "--diff", "--unsafe-fixes", "--select", "F106"])
    out, err = capsys.readouterr()
    assert (
        "+++ b/thrice.yaml" in out and "twice.yaml: a text that a patch must not show stands beside the change" in err
    )


def test_machine_formats_stay_whole(project, capsys):
    for format in ("json", "sarif"):
        main(["check", ".", "--output-format", format])
        assert json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_no_report_file_holds_a_secret(project, capsys):
    names = [f"report.{format}" for format in FORMATS]
    main(
        [
            "check",
            ".",
            "--output-format",
            ",".join(FORMATS),
            *(word for name in names for word in ("--output-file", name)),
        ]
    )
    assert not [name for name in names if leaked((project / name).read_text(encoding="utf-8"))]


def test_no_baseline_holds_a_secret(project, capsys):
    main(["check", ".", "--baseline", "base.json", "--write-baseline"])
    assert not leaked((project / "base.json").read_text(encoding="utf-8") + "".join(capsys.readouterr()))


@pytest.mark.slow
def test_the_library_keeps_them_too(project):
    report = stablint.check(".")
    assert not leaked(stablint.to_text(report) + stablint.to_model(report).model_dump_json())
    with pytest.raises(stablint.UnsafeConfig) as raised:
        stablint.assert_safe(".")
    assert not leaked(str(raised.value))


WRONG_WORDS = {
    "an option that is none": ["check", ".", "--{key}", "{value}"],
    "an option with its value": ["check", ".", "--{key}={value}"],
    "a GPU": ["check", "hf.yaml", "--gpu", "{value}"],
    "a fact": ["show", "hf.yaml", "--set", "training.{key}={value}"],
    "a release": ["check", "hf.yaml", "--with", "{key}={value}"],
    "a format": ["check", ".", "--output-format", "{key}={value}"],
    "a file": ["show", "{key}={value}"],
    "a rule": ["explain", "{key}={value}"],
    "a command": ["run", "--", "no-such-program", "--{key}", "{value}"],
    "the settings": ["check", "hf.yaml", "--config", "wrong.toml"],
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG_WORDS.values(), ids=WRONG_WORDS)
def test_no_error_message_holds_one(project, words, capsys):
    keyed = {"hub_token": VENDORS["Hugging Face"][1], "api_key": VENDORS["OpenAI"][1]}
    if any("{key}" in word for word in words):  # alone, a value of no shape is only a word
        keyed = {**keyed, "password": BY_KEY["password"], "my_secret": BY_KEY["x_secret"]}
    for key, value in keyed.items():
        (project / "wrong.toml").write_text(f'[versions]\n{key} = "{value}"\n', encoding="utf-8")
        output = said(capsys, [word.format(key=key, value=value) for word in words])
        assert output and not leaked(output, [value])


def test_run_hides_them_and_hands_them_on(project):
    """The report of `run` shows none; the program that it starts gets every one."""
    flags = [word for key, value in {**dict(VENDORS.values()), **BY_KEY}.items() for word in (f"--{key}", value)]
    training = ["--output_dir", "out", "--learning_rate", "3e-4", "--fp16", "true", "--bf16", "true"]
    program = "import json, sys\njson.dump(sys.argv[1:], open('got.json', 'w'))\n"
    (project / "train.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "stablint", "run", "--force", "--", sys.executable, "train.py", *training, *flags]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120)
    assert json.loads((project / "got.json").read_text(encoding="utf-8")) == [*training, *flags]
    assert not leaked(done.stdout + done.stderr)


def test_a_traceback_holds_none():
    secret = VENDORS["Groq"][1]
    # The secret is no part of the program's text, whose lines a traceback shows: from Python 3.13 on those of `-c` as well.
    program = (
        "import sys; from stablint.secrets import exit; exit.guard([]); raise ValueError('the token is ' + sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", program, secret], capture_output=True, text=True, timeout=60)
    assert "ValueError: the token is ********" in done.stderr and not leaked(done.stderr, [secret])


@pytest.mark.parametrize(("key", "secret"), VENDORS.values(), ids=VENDORS)
def test_a_vendor_s_token_is_hidden_behind_its_key(key, secret):
    lower = key.lower()
    for text in (
        f"export {key}={secret}",
        f'os.environ["{key}"] = "{secret}"',
        f"{lower}: {secret}",
        f'"{lower}": "{secret}",',
        f"train.py --{lower.replace('_', '-')} {secret} --fp16",
        f"train.py --{lower}={secret}",
        f"TrainingArguments({lower}='{secret}', fp16=True)",
        f"%env {key}={secret}",
        f"setenv {key} {secret}",
    ):
        assert secret not in mask(text) and len(mask(text, same_length=True)) == len(text), text


KNOWN_BY_KEY_ALONE = {
    "Weights & Biases", "AWS, secret", "AWS, session", "Azure, storage", "Azure, OpenAI", "Comet", "Mistral", "Cohere", "MLflow", "ClearML", "SwanLab",
    "Kaggle", "Alibaba Cloud, secret", "Tencent Cloud, secret",
}  # fmt: skip


@pytest.mark.parametrize("vendor", [vendor for vendor in VENDORS if vendor not in KNOWN_BY_KEY_ALONE])
def test_a_shape_is_known_anywhere(vendor):
    secret = VENDORS[vendor][1]
    for text in (f"run_name: {secret}", f"see '{secret}'.", f'{{"x": "{secret}"}}', f"({secret})", f"a={secret};b"):
        assert secret not in mask(text), text


@pytest.mark.parametrize("key", PRIVATE_KEYS.values(), ids=PRIVATE_KEYS)
def test_a_private_key_is_known_by_its_first_line(key):
    body = "MIIEvQ" + "IBADANBgkqhkiG9w0BAQEF" * 2
    masked = mask(key.replace("BODY", body) + "\n")
    assert body not in masked and masked[:12] == key[:12]


@pytest.mark.parametrize(("address", "secret"), ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_keeps_its_host_and_loses_its_secret(address, secret):
    masked = mask(f"clone {address} now")
    assert secret not in masked and masked.startswith("clone ") and masked.endswith(" now")
    assert address.split("://")[0] in masked


def test_every_shape_has_its_mark_among_the_hints():
    """Where no mark is found no pattern is tried."""
    assert not [mark for _, marks, _ in SHAPES for mark in marks if not may_hold_secret(f"x {mark}{'a' * 22} x")]


BEFORE = [
    "",
    "x ",
    '"',
    "token=",
    "é",
    "\\n",
    "\\x0a",
    "\\u000a",
    "\\U0000000a",
    "\\012",
    "%20",
    "a%20",
    "\x1b[0;31m",
    "\x1b[m",
    "word",
    "://u:",
    "密",
]


@pytest.mark.parametrize("before", BEFORE, ids=repr)
def test_no_token_is_hidden_by_what_is_looked_for_first(before):
    """What the patterns find in the whole text is found where its runs were looked at first."""
    for token in (token for _, token in VENDORS.values()):
        text = f"a = 1\nb: {before}{token} c"
        plain = {found.span() for found in shapes._tokens().finditer(text) if shapes._is_token(found[0])}
        escaped = {found.span(1) for found in shapes._escaped_tokens().finditer(text) if shapes._is_token(found[1])}
        assert plain | escaped <= set(shapes.shaped(text)), (before, token)


def test_no_command_is_hidden_by_the_words_that_are_looked_for_first():
    for left, right in product(sorted(commands._LEFT), (" ", '"', "\\")):
        text = "\n".join(f"x{left}{program}{right}" for program in commands._BY_PROGRAM)
        programs = {
            program for word, several in commands._BY_WORD.items() if word in words_of(text) for program in several
        }
        assert programs == commands._BY_PROGRAM.keys()


def test_no_key_is_hidden_by_the_words_that_are_looked_for_first():
    """A text with a letter beyond ASCII is looked through without them."""
    for text in (*(one.text for one in FILES), LOG, "\n".join(SECRET_KEYS)):
        several = str(text).encode("ascii", "ignore").decode()
        assert several.isascii() and marks_in(several) == marks_in(several + "\né")


def test_no_surroundings_are_hidden_by_the_words_that_are_looked_for_first():
    for marks, _ in shapes._BEHIND:
        for mark in marks:
            assert shapes._BEHIND_MARKS[mark] in vocabulary(f"x{mark.upper()}y"), mark


def test_no_shape_is_shorter_than_what_is_looked_at():
    parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    shortest = {
        vendor: min(parser.parse(mark.replace(".", "x") + rest).getwidth()[0] for mark in marks or ("",))
        for vendor, marks, rest in SHAPES
    }
    del shortest["JSON web tokens, Neptune"]  # 40 letters or two dots stand in each, which its width does not show
    assert min(shortest.values()) >= _SHORTEST


def words(text: str) -> list[str]:
    return text.split()


SECRET_KEYS = words("""
    token hf_token HF_TOKEN hfToken hub_token hubToken push_to_hub_token HUGGING_FACE_HUB_TOKEN use_auth_token api_key apiKey API_KEY apikey
    x-api-key OPENAI_API_KEY OPENAI_KEY wandb_key WANDB_API_KEY wandb.api_key secret SECRET client_secret secretKey AWS_SECRET_ACCESS_KEY
    aws_secret_access_key password PASSWORD dbPassword PGPASSWORD MYSQL_PWD passwd pass DB_PASS passphrase credentials access_key ACCESS_KEY
    accessKey private_key auth_token access_token refresh_token session_token bearer_token foo_token MY_KEY X_KEY api_key_2 OPENAI_KEY_PROD
    GITHUB_PAT account_key deepspeed.wandb.api_key training.hub_token storage_key encryption_key comet_api_key NEPTUNE_API_TOKEN
    dbpass DBPASS mypass userpass pass_ passPhrase pass_phrase pass_word pw db_pw dbpw passw psw authkey appkey private_key_pem api_key_list
    apikey_list the_token hub_model_token clave heslo passord 秘钥 私钥 凭证 授权码 暗号 秘密鍵 암호 секрет QIANFAN_SK OSS_SK VOLC_SK basic_auth
""")
BENIGN_KEYS = words("""
    pool_token pooler_token pad_token eos_token bos_token unk_token mask_token pad_token_id eos_token_id max_new_tokens max_tokens special_tokens
    additional_special_tokens add_special_tokens response_token instruction_token image_token video_token stop_token tokenizer
    tokenizer_name tokenizer_name_or_path tokenizer_type use_slow_tokenizer num_virtual_tokens dataset_key metric_key label_key labels_key
    key_mapping image_key primary_key text_key prompt_key sort_key json_key key keys foreign_key checkpoint_key num_key_value_heads
    password_file secret_name token_type token_path api_key_env forward_pass num_passes author authors path patience compass bypass_checks
    monkey keyboard hotkey passage pass_rate auto_find_batch_size secrets_manager_arn average_tokens_across_devices append_concat_token
    template_thinking_key prng_key lora_key model_author secretary
    trespass subpass multipass encompass multi_pass_word tokens num_tokens tokens_per_batch max_tokens_per_gpu key_proj q_key_layer tokenizer_class
    tokenizer_model pretrained_tokenizer hotkeys dataset_keys lambda_keys token_list key_list key_pool allow_list pass_at_k n_pass autopwm
""")


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_a_key_that_names_a_secret_hides_any_literal(key):
    assert is_secret(key, "hunter2horse")


@pytest.mark.parametrize("key", BENIGN_KEYS)
def test_a_key_that_names_none_hides_nothing(key):
    assert not is_secret(key, "hunter2horse") and not is_secret(key, 32000)


LIKELY_KEYS = words("tokens openai_keys jwt otp sas secret_id wandb_login トークン 토큰 токен mdp cookies")


@pytest.mark.parametrize("key", LIKELY_KEYS)
def test_a_key_that_may_name_one_hides_what_looks_generated(key):
    assert is_secret(key, "Tz4pLq9Rk2Wm7d") and not is_secret(key, "hunter2horse") and not is_secret(key, 32000)


PLACEHOLDERS = words("""
    TO_BE_FILLED YOUR_TOKEN your-sdk-token <token> <your_token_here> xxx xxxxxxxx XXXX-XXXX hf_xxxxxxxxxxxxxxxx sk-... *** ${HF_TOKEN}
    $HF_TOKEN {{token}} {token} %HF_TOKEN% None null true false os.environ["HF_TOKEN"] os.getenv("HF_TOKEN") WANDB_API_KEY HF_TOKEN
    my_api_key YOUR-API-KEY-HERE changeme replace_me [PAD] /run/secrets/token ~/.cache/token ./token.txt $(cat_token) hf_token - ...
    placeholder read_token something whatever ollama lm-studio token-abc123 token-abc YourHFToken YOURKEY YOURAPIKEY yoursecretkey
""")


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_a_placeholder_is_no_secret(value):
    assert is_placeholder(value) and not is_secret("hf_token", value)
    assert mask(f'hf_token: "{value}"') == f'hf_token: "{value}"'


BENIGN_LINES = """
pad_token: "<|endoftext|>"
tokenizer_name: meta-llama/Meta-Llama-3-8B
max_new_tokens: 512
model_name_or_path: mistralai/Mistral-7B-v0.1
revision: 0123456789abcdef0123456789abcdef01234567
token: Optional[str] = None
hub_token: str = field(default=None)
def login(token: str, api_key: str | None = None) -> None:
trainer = Trainer(tokenizer=tokenizer, token=args.hub_token, key=key)
api_key = os.environ["API_KEY"]
password = getpass.getpass("Password: ")
key = key.replace("module.", "")
HF_TOKEN=$HF_TOKEN torchrun train.py
export WANDB_API_KEY=${WANDB_API_KEY}
--report_to wandb --push_to_hub --hub_model_id org/name
https://huggingface.co/Qwen/Qwen2-7B@main
http://localhost:8000/v1/models
git@github.com:org/repo.git
ssh://git@github.com/org/repo.git
tcp://master:29500
dataset: s3://bucket/path/to/file.parquet
sk-learn and task-specific-learning-rates-are-no-token: 1
the backward pass: the trainer refuses it
a token: with it the model stops
special_tokens: {pad_token: <pad>, eos_token: </s>}
secret: WANDB_API_KEY
wandb_project: my-project-2026
output_dir: runs/2026-11-22T08-29-36
if "<pad>" == pad_token: tokens.append("<pad>")
for token in ("<s>", "</s>"): tokenizer.add_tokens(token)
special_tokens.append("<|im_start|>")
def get_tokenizer(): return "qwen"
columns = ["token", "label"]
echo done > out/tokenizer.txt
if token in ("<s>", "</s>"): pass
passes.append("first_pass_of_two")
if coll_token in ("list", "sequence"): pass
{"SomeZeroConfig": ["unknown-zero-key"], "OtherZeroConfig2": ["unknown-zero-key"]}
``password``: a text of the documentation
# a buffer to pass in (instead of "NULL", which "char[]" is not)
""".strip().splitlines()


@pytest.mark.parametrize("line", BENIGN_LINES)
def test_what_is_no_secret_stays(line):
    assert mask(line) == line


WEAK = {
    YAML: "password: hunter\nfp16: true\n",
    SHELL: "PGPASSWORD=hunter torchrun train.py --fp16\n",
    PYTHON: "password = 'hunter'\nfp16 = True\n",
}


@pytest.mark.parametrize(("language", "text"), WEAK.items())
def test_a_word_of_the_language_is_hidden_where_it_stands_only(language, text):
    """`password: training` must not take the word away from the whole report."""
    from stablint.secrets.masking import covered, known

    assert "hunter" not in covered(text, language) and len(covered(text, language)) == len(text)
    assert not known(text, language)


FORMS = [(language, form) for language, forms in WRITTEN.items() for form in forms]
GENERATED, WORD = "Tz4pLq" + "9Rk2Wm", "giraffe" + "umbrella"


@pytest.mark.parametrize(("language", "form"), FORMS, ids=[form.replace("\n", " ")[:60] for _, form in FORMS])
def test_whatever_is_literal_behind_a_key_that_names_a_secret_is_hidden(language, form):
    """In a source line, and so in the context of a patch: `covered` is what both show, `known` what everything else does not."""
    from stablint.secrets.masking import covered, known

    for secret in (GENERATED, WORD):
        text = form.replace("%%", "\0").replace("%s", secret).replace("\0", "%") + "\n"
        clean = covered(text, language)
        assert secret not in mask(clean, known(text, language)) and len(clean) == len(text), text


LONG, HEX = "Tz4pLq9Rk2WmXb7cHd3sYv5f", "4b9d0c7e5a1f" * 3 + "83e2"
APART = [
    (language, form, (LONG, HEX, *words))
    for forms, words in ((REACHED, (WORD,)), (SCATTERED, ()))
    for language, written in forms.items()
    for form in written
]


@pytest.mark.parametrize(
    ("language", "form", "secrets"), APART, ids=[form.replace("\n", " ")[:60] for _, form, _ in APART]
)
def test_a_secret_is_hidden_however_far_from_its_key(language, form, secrets):
    from stablint.secrets.masking import covered, known

    for secret in secrets:
        text = form.replace("%%", "\0").replace("%s", secret).replace("\0", "%") + "\n"
        clean = covered(text, language)
        assert secret not in mask(clean, known(text, language)) and len(clean) == len(text), text


@pytest.mark.parametrize("language", [PYTHON, SHELL, YAML, "json"])
def test_names_with_letters_and_digits_stay(language):
    from stablint.secrets.masking import covered

    assert [line for line in LIKE_GENERATED if covered(line, language) != line] == []


@pytest.mark.parametrize("form", LOGGED)
def test_a_log_s_own_spellings_of_a_key_and_its_value_are_known(form):
    secret = GENERATED + "x7Yb"
    assert secret not in mask(form.replace("%%", "\0").replace("%s", secret).replace("\0", "%"))


@pytest.mark.parametrize("line", SAID)
def test_what_a_log_says_of_tokens_stays(line):
    assert mask(line) == line


@pytest.mark.parametrize("name", [".env", "conf/common", "secrets.sh"])
def test_what_a_script_reads_into_itself_is_no_less_secret(name, tmp_path, monkeypatch, capsys):
    """A `.env` is no configuration and is not read by itself; a flag with a name that says nothing repeats what it holds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(f"HF_TOKEN={GENERATED}\nBATCH=3\n")
    (tmp_path / "run.sh").write_text(
        f". ./{name}\ntorchrun train.py --run_name $HF_TOKEN --per_device_train_batch_size $BATCH --fp16 True --bf16 True\n"
    )
    for words in (
        ["show", "run.sh"],
        ["check", "run.sh", "--show-facts", "--output-format", "json"],
        ["check", "run.sh"],
    ):
        main([*words, "--isolated"])
        told = capsys.readouterr()
        assert GENERATED not in told.out + told.err
        assert words[0] != "show" or ("run_name = ********" in told.out and "batch_size = 3" in told.out)


def test_what_the_path_of_a_setting_says_is_hidden(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text("output_dir: out\nfp16: true\n")
    (tmp_path / "stablint.toml").write_text(f"baseline = 'password={GENERATED}.json'\n")
    for words in (["check", "."], ["config"], ["rules"]):
        assert main(words) == 2
        told = capsys.readouterr()
        assert "********.json does not exist" in told.err and GENERATED not in told.out + told.err


GENERATED = "Zq8rT2mWk5Xc9LbN4vHs7PdJ"


def test_what_a_log_tells_with_its_key_is_hidden_in_its_other_lines(tmp_path, capsys):
    secret = GENERATED + "x7Yb"
    log = tmp_path / "train.log"
    log.write_text(f"hub_token = {secret}\nRuntimeError: FlashAttention only supports Ampere GPUs or newer. {secret}\n")
    main(["diagnose", str(log)])
    output = "".join(capsys.readouterr())
    assert "FlashAttention" in output and secret not in output


@pytest.mark.parametrize(
    "line",
    [
        "train.py: error: unrecognized arguments: --hub_tokn {}",
        "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--hub_tokn', '{}']",
        "{{'loss': nan, 'api_kye': '{}'}}",
        "{{'loss': nan, 'grad_norm': nan, 'api_kye': '{0}'}}\n{{'loss': nan, 'grad_norm': nan, 'api_kye': '{0}'}}",
        "OddError: comet_ml.init('{}')",
        "OddError: args: [--hub_token, '{}']",
        "OddError: tokens=('{}')",
    ],
)
@pytest.mark.parametrize("format", ["full", "json", "markdown"])
def test_what_looks_generated_is_hidden_in_every_line_of_a_log(line, format, tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_text(
        f'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n{line.format(GENERATED)}\n'
    )
    main(["diagnose", str(log), "--output-format", format])
    assert GENERATED not in "".join(capsys.readouterr())


ESCAPES = (r"\n", r"\t", r"\r", r"\x0a", r"\u000a", r"\\n", r"\033[31m", "%20")


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_shape_is_known_behind_an_escape(escape):
    for vendor in ("Hugging Face", "GitHub, personal", "Groq", "OpenAI"):
        secret = VENDORS[vendor][1]
        for text in (f'optim: "adam{escape}{secret}"', f"{escape}{secret}"):
            assert secret not in mask(text), text


@pytest.mark.parametrize("sign", ("=", " =", "  : ", ":", '": "', "' = '"))
def test_every_key_gives_a_hint_whatever_stands_before_its_sign(sign):
    """Where no hint is found nothing is searched."""
    for key in ("dbPass", "pass", "GITHUB_PAT", "api", "my_sk", "ak", "azure_sas", "contraseña", "senha", *SECRET_KEYS):
        assert may_hold_secret(f"{key}{sign}x"), key


@pytest.mark.parametrize(
    "password", ("73915", "7", "pa$word5", "pa|word5", "pa{word5", "p@word5", "pa`word5", "a/b+c5word")
)
def test_a_password_of_an_address_may_hold_anything(password):
    assert password not in mask(f"https://ada:{password}@h.example.org/x").removeprefix("https://ada:")


@pytest.mark.parametrize("line", ORDINARY)
def test_names_of_models_files_and_settings_stay(line):
    from stablint.secrets.masking import covered

    assert mask(line) == line and covered(line, YAML) == line


def test_a_mapping_below_a_key_hides_what_the_key_names():
    from stablint.secrets.keys import conceal

    value = {
        "secrets": {"wandb": WORD, "user": "ada"},
        "env": [{"name": "DB_PASSWORD", "value": WORD}],
        "tokens": {"hf": WORD, "pad": "filler"},
    }
    assert conceal("keys", value, "*") == {
        "secrets": {"wandb": "*", "user": "ada"}, "env": [{"name": "DB_PASSWORD", "value": "*"}], "tokens": {"hf": "*", "pad": "filler"},
    }  # fmt: skip


LONG = (
    "password=(", "password:\n ", "tokens:\n  ", 'token = ["a",', "secrets: {a: ", "DB_PASSWORD=$(", "{name: API_KEY, ", "? password\n",
    "x: &a b\npassword: *a\n",
)  # fmt: skip


@pytest.mark.parametrize(("piece", "language"), sampled(product(LONG, (PYTHON, SHELL, YAML, "json", "")), 3))
def test_no_search_grows_faster_than_its_text(piece, language):
    """A hundred thousand characters in a generous second: what grew with the square would take minutes."""
    from stablint.secrets.masking import covered

    text = piece * (100_000 // len(piece))
    assert cost(lambda: covered(text, language), 2) <= 2


def test_words_of_keys_are_found_as_a_pattern_finds_them():
    """Case by case and letter by letter, those that only a pattern takes for k, s and i included."""
    pattern = re.compile(
        r"(?i)token|key|secret|pass|pwd|cred|auth|bearer|\bpat\b|_pat\b|cookie|signature|_sk\b|_ak\b|\bsk\b|\bak\b|_sas\b|dsn|webhook|hmac|jwt"
        r"|pw\b|psw\b|_otp\b|_mdp\b|_login\b|\bsas\b|\botp\b|\bmdp\b|\bclave\b|heslo|lozinka|adgangskode"
        r"|api\b|connection|contrase|senha|kennwort|wachtwoord|salasana|parola"
    )
    dice = random.Random(5)
    words = re.findall(r"\w{2,}", pattern.pattern.replace("\\b", " "))
    alike = {"k": "\u212a", "s": "\u017f", "i": "\u0131"}
    for _ in range(3000):
        pieces = [
            dice.choice([word, word.upper(), word[:-1], "".join(alike.get(c, c) for c in word)])
            if dice.random() < 0.6
            else dice.choice("aZ _-.\n=:\u00e9\u6f22\u01301")
            for word in dice.choices(words, k=dice.randint(1, 12))
        ]
        text = "".join(pieces)
        assert marks_in(text) == [found.span() for found in pattern.finditer(text)], text


def test_a_number_is_hidden_and_json_stays_json():
    text = json.dumps({"password": int(NUMBER), "max_steps": 1000})
    assert json.loads(mask(text, data=True)) == {"password": "********", "max_steps": 1000}


def test_the_command_line_s_own_texts_lose_nothing(capsys):
    """Of the pages of all rules, of every help and of the documentation nothing is taken for a secret."""
    main(["rules", "--output-format", "json"])
    rules = json.loads(capsys.readouterr().out)
    text = json.dumps(rules, ensure_ascii=False)
    assert "********" not in text


def test_secrets_in_files_are_reported_where_they_stand(project, capsys):
    main(["check", ".", "--output-format", "concise", "--select", "S101"])
    names = {line.split(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert names >= {"hf.yaml", "factory.yaml", "axolotl.yaml", "ds.json", "accelerate.yaml", "run.sh", "train.py"}


@pytest.mark.parametrize(
    "text",
    [
        'x = 1  # pass in ("char[]", size)\n',
        '# the password in ("docs" of it\n',
        'while x: pass\ny = "text"\n',
    ],
)
def test_a_statement_or_a_comment_begins_no_expression(text):
    from stablint.secrets.masking import covered

    assert covered(text, PYTHON) == text


WORDS_IN_LOGS = """
HF_TOKEN=%s
logging in with DB_PASSWORD=%s
DEBUG botocore: secret_key=%s
user=ada pass=%s
MODELSCOPE_API_TOKEN...............%s
| DB_PASSWORD | %s |
NGROK_AUTHTOKEN is set to %s
set WANDB_KEY to %s
Password for 'https://ada@github.com': %s
+ wandb login %s
password: %s
""".strip().splitlines()


@pytest.mark.parametrize("form", WORDS_IN_LOGS)
def test_a_log_may_tell_a_password_that_looks_like_any_word(form):
    for word in ("giraffe" + "-umbrella", "winter" + "!26", "zebra" + "_crossing"):
        assert word not in mask(form.replace("%s", word))


def test_every_command_has_its_mark_among_the_hints():
    for command in commands.COMMANDS:
        assert may_hold_secret(" ".join((command.program, *command.sub, *command.flags, "x"))), command


NAMES_OF_A_PROGRAM = """
from xtuner.v1.model.moe.qwen3 import Qwen3MoE30BA3Config
model_cfg = Qwen3_5_VLMoE35BA3Config(compile_cfg=False)
class GptOss117BA5P8Config(GptOssConfig): pass
token = self._accept("when")
if token_value in ("super", "super@"): pass
headers = {"Authorization": f"Bearer {self.config.api_key}"}
{"greedy_pass1": 0.907}
# Keyword arguments to pass to `AutoModelForCausalLM.from_pretrained` when they are used
# After skipping the leading token: start=1, size=2
""".strip().splitlines()


@pytest.mark.parametrize("line", NAMES_OF_A_PROGRAM)
def test_names_and_words_of_a_program_stay(line):
    from stablint.secrets.masking import covered

    assert covered(line, PYTHON) == line


NOTHING_IN_THE_SHELL = """
if [ -z "${HF_TOKEN:-}" ]; then echo "ERROR: none"; fi
: "${GH_TOKEN:?GH_TOKEN must be set}"
git clone https://git@github.com/org/repo.git
git clone https://ada@dev.azure.com/ada/project/_git/repo
mysql -u root -p runs
wandb login && python train.py
curl -u "$USER:$PASSWORD" https://h.example.org
docker login -u ada -p "$DOCKER_TOKEN"
zip -r a.zip folder
""".strip().splitlines()


@pytest.mark.parametrize("line", NOTHING_IN_THE_SHELL)
def test_a_command_without_a_secret_stays(line):
    from stablint.secrets.masking import covered

    assert covered(line, SHELL) == line
