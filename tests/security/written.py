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
    "# password: %s", "x = 1  # DB_PASSWORD: %s", 'config = """\ndb_password: %s\n"""',
    'config = """\n[hub]\ndb_password = %s\n"""', '"""db_password: %s"""', '(user, db_password) = ["ada", "%s"]',
    'AUTH = ["ada", "%s"]', 'CREDS = ("ada", "%s")', 'fs = S3FileSystem(key="%s", secret="aaaa")',
    'options = {"key": "%s", "secret": "aaaa"}', 's = {"username": "ada", "key": "%s"}', 'wandb = {"project": "x", "key": "%s"}',
    'oss2.Auth("ada", "%s")', 'pymysql.connect("db", "root", "%s", "x")', 'comet_ml.Experiment("%s")',
    'fs = s3fs.S3FileSystem(False, "aaaa", "%s")', 'subprocess.run(["wandb", "login", "%s"])', "# wandb login %s",
    'for NGROK_AUTHTOKEN in ["%s"]: pass', 'logger.info("db_password=%%s", "%s")', 'open(".env", "a").write("DB_PASSWORD=%s!\\n")',
    'p.add_argument(\n    "--SECRET_KEY",\n    type=str,\n    default="%s",\n)', '"geheimer_schluessel": "%s",',
    'cohere.Client("%s")', 'Github("%s")', 'Minio("h:9000", "aaaa", "%s")',
    'boto3.Session("aaaa", "%s")', 'yagmail.SMTP("ada", "%s")', 'redis.StrictRedis("h", 6379, 0, "%s")',
    'demo.launch(auth=[("ada", "%s")])', 'send(user="ada", auth_code="%s")', "# wandb key: %s",
    "# 密码是 %s",
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
    "# password: %s", "#password=%s", "wandb login --relogin %s",
    "ngrok authtoken %s", "twine upload -u ada -p %s d/x", "poetry config http-basic.x ada %s",
    "poetry config pypi-token.x %s", "kaggle config set -n key -v %s", "git clone https://%s@github.com/x/y.git",
    "pip install git+https://%s@github.com/x/y.git", 'curl -b "session=%s" h', 'curl "https://h.example.org/?sv=2022&sig=%s"',
    "http -a ada:%s h", "mongo -u ada -p %s x", "ossutil cp a b -i aaaa -k %s",
    "obsutil config -i=aaaa -k=%s", "mc alias set minio http://x aaaa %s", "openssl enc -aes-256-cbc -pass pass:%s -in a",
    "zip -P %s a.zip a", "7z x -p%s a.7z", "useradd -p %s ada",
    'python -c "wandb.login(key=\'%s\')"', 'cat > k.json <<EOF\n{"username": "ada", "key": "%s"}\nEOF', "sed -i 's/TOKEN/%s/' c.yaml",
    "printf '%%s' %s > token.txt", 'cat > c.toml <<EOF\n[secrets]\nhf = "%s"\nEOF', "x --password <(echo %s)",
    "oras login -u ada -p %s x", "skopeo copy --src-creds ada:%s docker://a docker://b", "az keyvault secret set --name y --value %s",
    "etcdctl --user root:%s get x", "redis-server --requirepass %s", "openxlab login --ak aaaa --sk %s",
    "ssh-keygen -t rsa -N %s -f k", "kinit ada <<< %s", "gh auth login --with-token < <(echo %s)",
    'curl -H "Cookie: session=%s" h', "pulumi config set --secret x:y %s", "docker run --env BOS_SK=%s x",
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
    "# password: %s", "# db_password is %s", "stringData:\n  wandb: %s",
    "wandb:\n  key: %s", "wandb: {project: x, key: %s}", "auth: [ada, %s]",
    "s3:\n  key: %s\n  secret: aaaa", "s3:\n  ak: %s\n  sk: aaaa", "run: |\n  wandb login %s",
    'conn: "user=ada;password=%s;host=db"', "image_pull_secrets:\n  - auth: {username: ada, password: %s}", "email:\n  auth_code: %s",
)  # fmt: skip
JSON = (
    '{"secrets": {"wandb": "%s"}}', '{"name": "DB_PASSWORD", "value": "%s"}', '{"key": "DB_PASSWORD", "value": "%s"}', '{"passwor\\u0064": "%s"}',
    '{"password":\n  "%s"}', '{"password"\n :\n "%s"}', '{"password": [\n"%s"\n]}', '{"args": ["--hub_token", "%s"]}', '{"url": "https:\\/\\/ada:%s@h"}',
    '{"source": ["password = (\\n",\n "  \'%s\'\\n", ")\\n"]}', '{"source": ["%%env DB_PASSWORD %s\\n"]}', '{"source": ["%%set_env DB_PASSWORD %s\\n"]}',
    '{"source": ["password = SecretStr(\'%s\')\\n"]}', '{"source": ["!export HF_TOKEN=%s && python t.py\\n"]}',
    '{"auth": ["ada", "%s"]}', '{"wandb": {"key": "%s"}}', '{"_comment": "passphrase: %s"}',
    '{"source": ["%%%%writefile c.yaml\\n",\n "hub_token: %s\\n",\n "  - password: %s\\n",\n "seed: 1"]}',
)  # fmt: skip

# Makefiles, justfiles, Dockerfiles: a definition's value is the rest of its line.
RECIPE = (
    "export REPLICATE_API_TOKEN := %s", "train: export MISTRAL_KEY = %s", "HUB_TOKEN ?= $(or $(HF_TOKEN),%s)", "DB_PASSWORD += %s",
    "define HUB_TOKEN\n%s\nendef", "define ENVFILE\nDB_PASSWORD=%s\nendef", "train:\n\t@COHERE_API_KEY=%s torchrun train.py",
    "train:\n\ttorchrun train.py --hub_token \\\n\t\t%s", 'export MISTRAL_API_KEY := "%s"', 'hf := env_var_or_default("HF_TOKEN", "%s")',
    'hub_token := "a" + "%s"', "ENV API_PASSPHRASE correct horse %s", "ENV A=1 \\\n    API_KEY=%s", 'LABEL registry.password="%s"', "ARG HF_TOKEN=%s",
    'CMD ["torchrun", "train.py", "--hub_token", "%s"]', "env hub_token %s horse",
)  # fmt: skip
WRITTEN = {"python": PYTHON, "shell": SHELL, "yaml": YAML, "json": JSON, "recipe": RECIPE}

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


REACHED = {
    "python": (
        'class Credentials:\n    user = "ada"\n    wandb = "%s"', 'class ApiKeys(str, Enum):\n    OPENAI = "%s"',
        '@dataclass\nclass Secrets:\n    hf: str = "%s"\n    region: str = "eu"', 'class Tokens(NamedTuple):\n    hf: str = "%s"',
        'Secrets = namedtuple("Secrets", "hf wandb")("%s", None)', 'secrets = SimpleNamespace(hf="%s", wandb="")',
        'secrets = types.SimpleNamespace(\n    hf="%s",\n)', 'cfg = dict([("hub_token", "%s")])',
        'pairs = (("user", "ada"), ("password", "%s"))\nos.environ.update(pairs)',
        'for name, value in [("HF_TOKEN", "%s"), ("SEED", "1")]:\n    os.environ[name] = value',
        'for k, v in {"HF_TOKEN": "%s"}.items(): os.environ[k] = v', 'TOKENS["hf"] = "%s"', 'self.secrets["hf"] = "%s"', 'cfg.secrets.hf = "%s"',
        'args.tokens.wandb = "%s"', 'config["secrets"]["hf"] = "%s"', 'login(\n    token="%s",\n    add_to_git_credential=True,\n)',
        'login(\n    add_to_git_credential=True, new_session=False,\n    # the team\'s\n    "%s")', 'huggingface_hub.login ("%s")',
        'wandb.login(\n  key = \\\n  "%s")', 'HfApi(token="%s").whoami()', 'api = HfApi(endpoint=None, token=(lambda: "%s")())',
        'token = (\n    "ab"\n    "%s"\n)', 'token = "hf" + "_" + "%s"', 'token = "_".join(("hf", "%s"))', 'token = "".join(reversed("%s"))',
        'TOKEN = "%s"[::1].strip()', 'token = {"dev": "a", "prod": "%s"}[stage]', 'token = ["a", "%s"][1]', 'token = next(iter(["%s"]))',
        'token, *_ = ["%s"]', 'token = (lambda x: x)("%s")', 'token = functools.partial(str, "%s")()', 'token = yaml.safe_load("value: %s")["value"]',
        'token = os.environ.setdefault("HF", "%s")', 'token = os.popen("echo %s").read()', 'token = subprocess.check_output(["echo", "%s"])',
        'try:\n    token = os.environ["HF_TOKEN"]\nexcept KeyError:\n    token = "%s"', 'os.system("echo %s > ~/.cache/huggingface/token")',
        'match stage:\n    case "prod":\n        token = "%s"', 'if not token: token = "%s"', 'token = token if token else "%s"',
        'get_token = functools.cache(lambda: "%s")', 'def connect(user, password="%s", *, host="h"): ...', 'x = "hf_token: %s"',
        'cmd = f"train --hub_token %s --lr {lr}"', 'argv = "--hub_token %s --fp16".split()', 'sys.argv += ["--hub_token", "%s"]',
        'parser.set_defaults(hub_token="%s", lr=1e-4)', 'args = parser.parse_args(["--hub_token", "%s"])', 'Secret.from_dict({"hf": "%s"})',
        'modal.Secret.from_dict({\n    "HF_TOKEN": "%s",\n})', 'V1Secret(string_data={"hf": "%s"})', 'env_vars = {"HF_" + "TOKEN": "%s"}',
        'kw = {**base, "hub_" "token": "%s"}', 'globals()["HF_TOKEN"] = "%s"', 'locals().update(hub_token="%s")', 'setattr(cfg, "hub" + "_token", "%s")',
        'object.__setattr__(cfg, "hub_token", ("%s"))', '# token = "%s"', '"""\nusage: HF_TOKEN=%s python train.py\n"""', 'token: str\ntoken = "%s"',
        'a = b = hub_token = c = "%s"', 'hub_token = x = y["z"] = "%s"',
    ),
    "shell": (
        'TOKENS[hf]=%s', "declare -A SECRETS\nSECRETS[wandb]='%s'", 'PASSWORDS+=(%s)', 'for HF_TOKEN in %s; do python t.py; done',
        'for TOKEN in aaaa %s\ndo\n  python t.py\ndone', 'case $STAGE in\n  prod) HF_TOKEN=%s ;;\nesac', 'case $HF_TOKEN in\n  %s) echo ok ;;\nesac',
        'select HF_TOKEN in %s; do break; done', 'if [ "$HF_TOKEN" = %s ]; then x; fi', "test $HF_TOKEN = '%s' && x", '[ -z $HF_TOKEN ] && HF_TOKEN=%s',
        ': ${HF_TOKEN:=%s}', ': "${HF_TOKEN:=\'%s\'}"', 'HF_TOKEN=\\\n%s', 'HF_TO\\\nKEN=%s', 'export \\\n  HF_TOKEN=%s \\\n  A=b',
        'env -i HF_TOKEN=%s python t.py', 'eval HF_TOKEN=%s', 'eval "export HF_TOKEN=%s"', "alias t='HF_TOKEN=%s python t.py'", 'hf_token() { echo %s; }',
        "get_token() {\n  printf '%%s' %s\n}", 'HF_TOKEN=$(printf %%s %s)', "HF_TOKEN=$(echo '%s' | tr -d x)", 'HF_TOKEN=$(base64 -d <<< %s)',
        "HF_TOKEN=$(cat <<'X'\n%s\nX\n)", 'cat > ~/.netrc <<EOF\nmachine api.wandb.ai\n  login user\n  password %s\nEOF',
        'cat <<EOF > .env\nHF_TOKEN=%s\nEOF', 'tee ~/.cache/huggingface/token <<< %s', "printf '%s' > $HF_HOME/token",
        'huggingface-cli login --token=%s --add-to-git-credential', 'hf auth login --token "%s"',
        'python -c "from huggingface_hub import login; login(\'%s\')"', "docker run -e HF_TOKEN='%s' img", 'docker run --env WANDB_API_KEY="%s" img',
        'sbatch --export=ALL,HF_TOKEN=%s run.sh', 'srun --container-env=HF_TOKEN=%s x', 'aws configure set aws_secret_access_key %s',
        'ssh h "HF_TOKEN=%s python t.py"', "sed -i 's/HF_TOKEN=.*/HF_TOKEN=%s/' .env", 'yq -i \'.hub_token = "%s"\' cfg.yaml',
        'jq \'.token="%s"\' a.json', 'git config --global http.extraheader "AUTHORIZATION: bearer %s"',
        'git remote set-url origin https://oauth2:%s@huggingface.co/a/b', 'export WANDB_API_KEY HF_TOKEN=%s', 'declare -x HF_TOKEN="%s"',
        'typeset -gx HF_TOKEN=%s', 'readonly HF_TOKEN=%s', 'HF_TOKEN=%s; export HF_TOKEN', '#export HF_TOKEN=%s',
    ),
    "yaml": (
        'x-env: &env\n  wandb: %s\nsecrets: *env', 'base: &s {hf: %s}\nsecrets: *s', 'secrets:\n  <<: *base\n  hf: %s', 'keys: &k\n  - %s\napi_keys: *k',
        'env:\n  - k: HF_TOKEN\n    v: %s', 'vars:\n  - env: WANDB_API_KEY\n    is: %s', 'variables:\n  - HF_TOKEN: {value: %s}',
        'variables:\n  HF_TOKEN:\n    value: %s\n    description: mine', 'env:\n  HF_TOKEN: >-\n    %s', 'env: !!omap [HF_TOKEN: %s]',
        '"hub\\x5ftoken": %s', '"\\x70assword": %s', '"hub_\\u0074oken": "%s"', '? hub_token\n\n: %s', 'hub_token: |+\n\n  %s\n', 'hub_token: >1\n %s',
        'hub_token: !<tag:yaml.org,2002:str> %s', "hub_token:   &anchor   '%s'", 'hub_token: [ ~, %s ]', "hub_token: {prod: %s, dev: ''}",
        'api_keys:\n  openai:\n    - a\n    - %s', 'accounts:\n  - user: ada\n    pass: %s', 'login: {user: ada, pass: %s}', 'huggingface:\n  token: %s',
        'report_to: wandb\nwandb_key: %s', 'run: >\n  HF_TOKEN=%s\n  python t.py', "cmd: bash -lc 'export HF_TOKEN=%s; python t.py'",
        'args:\n  --hub_token: %s', 'overrides:\n  - \'hub_token="%s"\'', 'hub_token: "%s" ; note', 'hub_token: ${oc.select:x,%s}',
        "hub_token: '${HF:-%s}'", 'dsn: postgres://ada:%s@h/db', "databases:\n  main: {user: ada, password: '%s'}",
        '- {op: add, path: /hub_token, value: %s}', 'patches:\n  - path: spec.hub_token\n    value: %s', 'auth:\n  type: bearer\n  bearer: %s',
        'credentials: [ada, %s]',
    ),
    "json": (
        '{"env": [{"k": "HF_TOKEN", "v": "%s"}]}', '{"env": [["HF_TOKEN", "%s"]]}', '{"secrets": ["a", "%s"]}', '{"secrets": {"prod": {"hf": "%s"}}}',
        '{"hub\\u005ftoken": "%s"}', '{"op": "replace", "path": "/hub_token", "value": "%s"}', '{"source": ["login(\\n", "    \\"%s\\"\\n", ")\\n"]}',
        '{"source": ["%%env HF_TOKEN=%s\\n"]}', '{"source": ["for k, v in [(\'HF_TOKEN\', \'%s\')]:\\n", "    os.environ[k] = v\\n"]}',
        '{"source": ["!echo %s | hf auth login\\n"]}', '{"source": ["token = getpass() or \'%s\'\\n"]}',
    ),
}  # fmt: skip
"""Through whatever stands between a key and its literal: classes, loops, pairs, anchors, joined keys, calls of several lines. Written before any was known."""

SCATTERED = {
    "python": (
        'cfg = dict([\n    ["hub_token", "%s"],\n    ["lr", 1e-4],\n])',
        'keys = ["HF_TOKEN", "WANDB_API_KEY"]\nvals = ["%s", "b"]\nos.environ.update(zip(keys, vals))', 'os.environ.update(zip(["HF_TOKEN"], ["%s"]))',
        'TOKENS[0] = "%s"', 'token = str.encode("%s").decode()', 'token = json.loads(\'"%s"\')', 'with open("secrets.txt", "w") as f:\n    f.write("%s")',
        'Path(".hf_token").write_text("%s")', 'print("%s", file=open("token", "w"))', 'def hf_token() -> str:\n    value = "%s"\n    return value',
        '@property\ndef hub_token(self):\n    return self._x or "%s"', '(hub_token) = "%s"',
    ),
    "shell": (
        'TOKENS[0]=%s', 'echo %s | tee ~/.huggingface/token', "echo -n '%s' | base64 -d | hf auth login",
        "python - <<EOF\nimport wandb\nwandb.login(key='%s')\nEOF", "sed -i 's|__TOKEN__|%s|' cfg.yaml", 'wandb login --relogin %s',
    ),
    "yaml": (
        '? - hub_token\n: - %s', 'wandb:\n  key: %s', 'wandb: {api: {key: %s}}', 'run: |\n  wandb login \\\n    %s', 'args: [\n  --hub_token,\n  %s\n]',
        'overrides: [hub_token=%s, lr=1e-4]', 'set: hub_token=%s', 'tags: [%s]\nhub_token: x', '# old token: %s', '# wandb login %s', 'hub_token: # %s',
        'stringData:\n  hf: %s\nkind: Secret', 'kind: Secret\ndata:\n  hf: %s',
    ),
    "json": (
        '{"wandb": {"key": "%s"}}', '{"kind": "Secret", "stringData": {"hf": "%s"}}', '{"source": ["class Secrets:\\n", "    hf = \\"%s\\"\\n"]}',
        '{"source": ["TOKENS[0] = \'%s\'\\n"]}', '{"text": ["Login successful, token %s saved\\n"]}',
        '{"source": "import os\\nos.environ[\\"HF_TOKEN\\"] = \\\\\\n \\"%s\\""}',
    ),
}  # fmt: skip
"""Where nothing but its looks tells a secret: it is hidden if it was generated, and a word is not."""

LIKE_GENERATED = """
model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-base")
architectures: [Qwen3VLForConditionalGeneration, Phi4MMForCausalLM, LLaMAForCausalLM, TFMobileViTDeepLabV3]
quantizer: Int8DynActInt4WeightQATQuantizer
fsdp_transformer_layer_cls_to_wrap: DeepseekV3DecoderLayer
run_name: qwen25-7b-lr1e4-bs16-wd01-ep3-r16-a32
run_name: qwen25vl7binstruct4bit2024
output_dir: out/20241122T143015Z
revision: 4b9d0c7e5a1f4b9d0c7e5a1f4b9d0c7e5a1f83e2
image: registry.example.org/train@sha256:4b9d0c7e5a1f4b9d0c7e5a1f4b9d0c7e5a1f4b9d0c7e5a1f4b9d0c7e5a1f83e2
path: models--a--b/snapshots/4b9d0c7e5a1f4b9d0c7e5a1f4b9d0c7e5a1f83e2/config.json
git checkout 4b9d0c7e5a1f4b9d0c7e5a1f4b9d0c7e5a1f83e2
url: https://drive.google.com/file/d/1Tz4pLq9Rk2WmXb7cHd3sYv5f/view
"run_id": "4b9d0c7e5a1f4b9d0c7e5a1f83e2"
dtype: float8_e4m3fn
model_name_or_path: TheBloke/Mixtral-8x7B-v0.1-GPTQ-4bit-32g-actorder_True
dataset: HuggingFaceH4/ultrachat_200k
""".strip().splitlines()
"""Names with letters and digits that are no secret of anybody's."""
