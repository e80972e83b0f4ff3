"""Ways to write a secret behind a key that names it, by language; `%s` is the secret, and no quote of the language is missing that it needs."""

from __future__ import annotations

PYTHON = (
    'dbPass = "%s"', 'p.add_argument("--password", default="%s")', "p.add_argument('--hub_token', type=str, default='%s', help='x')",
    "p.add_argument('-p', '--password', dest='pw', default='%s')", 'password: str = field(default="%s")', 'password = SecretStr("%s")',
    "x = SecretStr('%s')", 'password = (("%s"))', 'password, user = "%s", "ada"', 'user, password = "ada", "%s"', 'a = password = "%s"',
    'password = a = "%s"', 'setattr(args, "password", "%s")', 'password = os.environ.get("A") or "%s"', 'x = os.getenv("HF_PASSWORD", "%s")',
    'x = cfg.get("password", "%s")', 'password = "%s" if a else None', 'passwords = ("aaaa", "%s")', 'tokens = {"hf": "%s"}',
    "TOKENS = dict(hf='%s', wandb=None)", 'password = (\n    # c\n    "%s"\n)', 'password = \\\n    "%s"', 'password = "".join(["%s"])',
    'password = f"{a}%s"', 'password = prefix + "%s"', "hub_token = '%%s' %% '%s'", "hub_token = base64.b64decode('%s')",
    "f(hub_token=Secret(value='%s'))", "f(hub_token={'a': '%s'})", "f(**{'hub_token': get() or '%s'})", 'env = [("HF_PASSWORD", "%s")]',
    'password: None | str = "%s"', 'password: Annotated[str, "x"] = "%s"', 'password: "str" = "%s"', 'password = """\n%s\n"""',
    'subprocess.run(["train", "--password", "%s"])', "os.putenv('HF_PASSWORD','%s')", 'assert password == "%s"',
    "requests.get(u, auth=('ada', '%s'))", "wandb.login('%s')", "HfFolder.save_token('%s')", "flags.DEFINE_string('db_password', '%s', 'x')",
    "headers = {'Authorization': 'token ' + '%s'}", "create_engine('postgresql://ada:' + '%s' + '@h/db')", "V1EnvVar(name='HF_TOKEN', value='%s')",
    "@click.option('--api-key', envvar='K', default='%s')", "api_key = typer.Option('%s', '--api-key')", "x['pass\\u0077ord'] = '%s'",
    'cfg = {"pass word": "%s"}', 'cfg = {"api key": "%s"}', 'cfg = {"password (db)": "%s"}', 'cfg = {"password ": "%s"}', 'pass_word = "%s"',
    'login(pw="%s")', 'api_key_list = ["%s"]', 'requests.get(u, auth=HTTPBasicAuth("u", "%s"))',
    'for api_key in ("%s",): pass', 'if password in ("%s", "b"): pass', 'if "%s" == password: pass', 'passwords.append("%s")', 'passwords.extend(["%s"])',
    'def get_password():\n    return "%s"', 'def get_password(): return "%s"', 'cfg = {"password": None or "%s"}', 'cfg = {"password": lambda: "%s"}',
    "requests.post(u, json={'credentials': {'user': 'ada', 'pass': '%s'}})", "secrets = [\n    '%s',\n]",
)  # fmt: skip
SHELL = (
    "export DB_PASSWORD=${DB_PASSWORD:-%s}", "DB_PASSWORD=$(echo %s)", "DB_PASSWORD=$(cat <<EOF\n%s\nEOF\n)", "DB_PASSWORD=$'%s'",
    "PASSWORDS=(%s b)", "read -r DB_PASSWORD <<< %s", "read -r HF_TOKEN <<'EOF'\n%s\nEOF", "printf -v DB_PASSWORD %%s %s", "set -gx DB_PASSWORD %s",
    "t --hub-token='%s'", "t --hub_token='ab'%s", "t --hub_token '{%s}'", "t --hub_token \\\n  %s", "t --cfg '{\"secrets\":{\"wandb\":\"%s\"}}'",
    "curl --user ada:'%s' h", "curl -H 'X-Api-Key: %s' h", "curl -H 'Authorization: token %s' h", "echo %s | hf auth login",
    "echo %s | docker login -u a --password-stdin", "git clone 'https://ada:pa|%s@h/x'", "git clone https://ada:pa$%s@h/x", "sshpass -p '%s' ssh a",
    "mysql -uroot -p'%s' db", "redis-cli -a %s", "declare -A TOKENS=([hf]=%s)",
    "export HF_TOKEN=`echo %s`", "HF_TOKEN=${HF_TOKEN/x/%s}", 'printf "%s\\n" | wandb login', "cat <<EOF | hf auth login\n%s\nEOF", "curl -u :%s h",
    "wandb login --host https://h.example.org %s", "modelscope login -t %s", "npm config set //r.example.org/:_authToken %s", "jq --arg password %s .x y",
    'gh secret set HF_TOKEN --body "%s"', "gh secret set HF_TOKEN -b %s", "echo %s > ~/.cache/huggingface/token", "t trainer.secrets.wandb=%s",
    "[[ $DB_PASSWORD == %s ]] && x", "setx HF_TOKEN %s",
    "DB_PASSWORD=here-%s", "DB_PASSWORD='pa...%s'", "DB_PASSWORD=\"$A%s\"", "local api_key='%s'", "kubectl create secret generic hf --from-literal=token=%s",
)  # fmt: skip
YAML = (
    "env: {fp16: true, password: %s}", "password:\n  %s", 'password: "aaa\n  %s"', 'password: "aaa\n  %s\nlearning_rate: 1', "password: abcd\n  %s",
    "? password\n: %s", '"pass\\u0077ord": %s', "env:\n- name: HF_PASSWORD\n  value: %s", "env:\n- value: %s\n  name: HF_PASSWORD",
    "env: [{name: DB_PASSWORD, value: %s}]", "secrets:\n  wandb: %s", "secrets: {wandb: %s}", "credentials:\n  prod:\n    wandb: %s", "tokens:\n  hf: %s",
    "passwords: {admin: %s}", "l: [{password: %s}]", "hub_token: ${oc.env:HF_TOKEN,%s}", "hub_token: '{{ env(\"A\",\"%s\") }}'",
    "x: &p %s\npassword: *p", "password: !!str %s", "contraseña: %s", "密码: %s", "пароль: %s", "mot_de_passe: %s", "senha: %s",
    "secrets: &s\n  wandb: %s", "secrets: !x\n  wandb: %s", "secrets:\n# of the team\n  wandb: %s", "hub_token: ${oc.decode:'%s'}", "env:\n  - [HF_TOKEN, %s]",
    "env:\n  - name: HF_TOKEN\n    # mine\n    value: %s", "url: jdbc:oracle:thin:ada/%s@//h:1521/x", "url: git+https://%s:x-oauth-basic@h.example.org/x.git",
    "dbpass: %s", "db_pw: %s", "passPhrase: %s", "api key: %s", "password (prod): %s", "密码：%s", "秘钥: %s", "секрет: %s", "basic_auth: ada:%s",
    "headers:\n  Authorization: %s", "password_root: %s", "token_hf: %s", "hf_token_read: %s", "dbPass : %s", "password: ABCD_%s",
    "{a: 1, hub_token: zebra [%s",
    "# hub_token: %s", "args: [--hub_token, %s, --fp16]", "args:\n  - --hub_token\n  - %s", "headers: {Authorization: 'Bearer %s'}", "url: https://ada:%s@h.example.org/x",
)  # fmt: skip
JSON = (
    '{"secrets": {"wandb": "%s"}}', '{"name": "DB_PASSWORD", "value": "%s"}', '{"key": "DB_PASSWORD", "value": "%s"}', '{"passwor\\u0064": "%s"}',
    '{"password":\n  "%s"}', '{"password"\n :\n "%s"}', '{"password": [\n"%s"\n]}', '{"args": ["--hub_token", "%s"]}', '{"url": "https:\\/\\/ada:%s@h"}',
    '{"source": ["password = (\\n",\n "  \'%s\'\\n", ")\\n"]}', '{"source": ["%%env DB_PASSWORD %s\\n"]}', '{"source": ["%%set_env DB_PASSWORD %s\\n"]}',
    '{"source": ["password = SecretStr(\'%s\')\\n"]}', '{"source": ["!export HF_TOKEN=%s && python t.py\\n"]}',
)  # fmt: skip

WRITTEN = {"python": PYTHON, "shell": SHELL, "yaml": YAML, "json": JSON}

LOGGED = (
    "hub_token ................ %s", "hub_token........%s", "hub_token -> %s", "hub_token => %s", "hub_token    %s", "hub_token\t%s", "| hub_token | %s |",
    "hub_token\u00a0=\u00a0%s", "hub_token：%s", "\x1b[1mhub_token\x1b[0m=\x1b[32m%s\x1b[0m", "'hub_token': \x1b[32m'%s'\x1b[0m", "hub_token%%3D%s",
    "password is %s", "password was '%s'", "using password %s", "invalid token: %s", "Invalid API key provided: %s.", "hub_token: Some(%s)",
    "['hub_token', '%s']", "--password PASSWORD (default: %s)", "password [%s]:", "password (from env): %s", "&quot;hub_token&quot;: &quot;%s&quot;",
    "<password>%s</password>", '<entry key="hub_token">%s</entry>', "CREATE USER ada IDENTIFIED BY '%s'",
)  # fmt: skip
"""How logs and messages put a key and what looks generated beside each other."""

SAID = """
the password is required and was not given
password is wrong, the token is 512 characters long
using token classification with 8192 tokens
| token | count |
token    loss
eos_token ....... 151645
pad_token -> <|endoftext|>
max_new_tokens => 512
num_tokens is 4096000
Adding special token <|im_start|> to the vocabulary
the secret is in the learning rate 3.0e-4
hub_token ....................................... None
hub_token -> ${HF_TOKEN}
""".strip().splitlines()
"""What logs say of tokens and passwords, and holds none."""

ORDINARY = """
model_name_or_path: sk-learn/sk-transformers-baseline-large
output_dir: out/basic hyperparameter_configuration
run_name: sk-learn-style-baseline-of-monday
dataset_name: hf_internaltestingdatasets
logging_dir: fw_reinforcementlearningruns
project: gsk_pharmaceuticalcorpusv2
hub_model_id: "https://h.example.org/x?key=article_list"
eval_dataset: LTAIrlineReviews2024
train_file: data/login user_interactions_of_2024_march
response_template: "the basic configuration-of-everything"
secret: false
tokens: 1000000
pad_token: "<|endoftext|>"
max_tokens: 40960
tokens: ["<|reserved_special_token_250|>", "<|im_end|>"]
mdp: gridworld_v2_of_2024
num_tokens_per_batch: 65536
target_modules: [q_proj, key_proj, value_proj]
token_ids: [12000, 13000]
credentials: {username: adalovelace, type: service}
hub_token: ${oc.env:HF_TOKEN}
hub_token: "{{ env('HF_TOKEN') }}"
password: ${DB_PASSWORD:-}
tokens: {eos: period, pad: filler}
api_key: file:///run/secrets/key
run_name: as-good-as-it-gets-with-lora-r16-alpha32
run_name: re_training_baseline_of_monday_v2
output_dir: out/sk_learn_reproduction_of_the_baseline_2024
dataset_name: pa-data-of-physical-activity-2024-03-11
logging_dir: out/tskey-events-of-the-run
checkpoint: 0123456789abcdef0123456789abcdef.safetensors
revision: 0123456789abcdef0123456789abcdef01234567
train_file: data/npg_portraits.jsonl
train_file: SEC/10-k/filings_of_2024_q3.jsonl
eval_file: SEC-edgar-corpus-2024-10-k-filings
model_name_or_path: ak-research/ak-llama-3-8b-instruct-lora-v2
model_name_or_path: bigcode/starcoder2-15b-instruct-v0.1
dataset_name: fc-amf-ocr-finetuning-set-v1
output_dir: out/rnd_search_of_learning_rates_2024_11
run_name: pul-mulv2-resnet50-imagenet-2024
""".strip().splitlines()
