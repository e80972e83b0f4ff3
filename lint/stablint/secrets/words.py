"""The words by which a key is known to name a secret, and those by which it is known to name none."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ALWAYS = _set("""
    accesskey accesstoken apikey apikeys apitok apitoken appkey authcode authkey authtoken bearer bearertoken clave credential credentials jeton
    keyphrase kouling lingpai loginkey mima miyao mnemonic passcode passkey passord passphrase passw passwd password passwort pat pincode
    privatekey psk psw pswd pw pwd pwrd refreshtoken secret secretkey secrets
""")
"""Keys that end in one of these name a secret."""

ABOUT = _set("""
    algorithm arn class classes column columns count dir directory disabled embed embedding embeddings enabled env expiration expires expiry
    field fields file filename files folder format group hint id ids idx index indices kind len length level limit limits list loss manager
    map mapping mode name names num path paths policy pos position prefix prompt provider rate ratio ref refs required rotation scope scopes
    set size source store suffix template ttl type types uri var variable variables version weight weights
""")
"""Where the last word is one of these, the key is of what it is called after: `password_file`, `secret_name`, `token_type`."""

TAIL = _set("""
    b64 backup base64 default dev live main new old pem plain primary prod production raw read ro rw secondary staging str string test value
    write
""")
"""Words behind the one that counts, which do not change what it is: `OPENAI_KEY_PROD`, `api_key_2`."""

CODES = _set("""
    access auth authorization backup invitation invite login otp pin recovery security unlock verification
""")
"""In front of `code` and `phrase` these make a secret of it; so does `seed` in front of the latter."""

KEYS_OF = _set("""
    access account admin aes api app application auth authentication cipher client decryption deploy encrypt encryption gpg hmac licence
    license master pgp private project root rsa secret server service session shared sign signature signing ssh storage subscription team
    user vault
""")
"""In front of `key` these make a secret of it."""

VENDORS = _set("""
    ai21 aim alibaba aliyun amazon amqp anthropic anyscale aoai argilla ark aws axolotl azure b2 baidu beam bitbucket brave cerebras claude
    clearml cloudflare codecarbon cohere comet cometml coreweave cos dagshub dashscope database databricks datadog db deepinfra deepseek
    determined dingtalk discord docker dockerhub elastic email exa feishu firebase fireworks ftp gcp gemini gh git github gitlab google
    grafana groq heroku hf huawei hub huggingface hyperbolic jina judge jwt kafka kaggle labelbox lambda lambdalabs langchain langfuse
    langsmith lark lepton linear litellm mail mailchimp mailgun milvus minimax minio mistral mlflow modal modelscope mongo mongodb moonshot
    mosaic mosaicml mysql neptune netrc newrelic ngc nlpcloud notion novita npm nvidia oauth oauth2 obs octoai ollama openai openrouter oss
    pagerduty paperspace perplexity pg pinecone polyaxon postgres proxy pypi qdrant qianfan r2 rabbitmq redis replicate roboflow runpod s3
    sambanova scale sendgrid sentry serper sftp siliconflow slack smtp snowflake stripe supabase swanlab tavily telegram tencent tgi tinker
    together togetherai twilio twine unsloth vast vercel vertex vllm volc volcengine voyage vpn wandb wasabi wb weaviate wecom xai zhipu
    zhipuai zilliz
""")
"""In front of `key`, `token` or `pat` these make a secret of it."""

STORES = _set("""
    amqp aws b2 cos database databricks db docker email ftp gcp gh git github gitlab hub kafka minio mongo mongodb mysql obs oss pg postgres proxy r2
    rabbitmq redis s3 scale sftp smtp snowflake
""")
"""Of these `key` may be the name of an object, of a row or of a message."""

TOKENS_OF_PEOPLE = _set("""
    admin app bot client personal push read root service session user write
""")
"""In front of `token` these make a secret of it."""

TOKENS_OF_TEXT = _set("""
    a action added additional all an anchor answer any as assistant attention attn audio average avg bad beg begin blank boi bos bottleneck
    box by byte call char chat class cls code codebook commit compression concat context coord correct count critic critical cross custom decoder
    delimiter doc document draft drop dummy each ema encoder end entity eoi eom eos eot extra false fast file filename fim fin first forced
    frame function gen generated generation gist global go good head hole human ignore im image img incorrect infill init initializer input
    instance instruct instruction ipython is keep label lang language last latent local logit loss marker mask max maximum mean media memory
    mention middle min minimum mm modality model multi n neg negative new newline next no noise null num number object obs observation
    observe of on only output pad padding patch per pixel placeholder point pool pooled pooler pooling pos positive predict predicted prefix
    prev previous prob process prompt python quad query question rand random reason reasoning ref refusal refuse register repo reserved response
    reward role score self sep separator single sink skip slow soi some sos sot sound source space span special speech split src start state step
    stop sub suffix sum summary system tab tail target task text tgt think thinking thought time timestamp tool total trainable trigger
    true turn unk unused use user value vid video virtual vision visual vq whitespace word yes
""")
"""Tokens of language models: `pad_token`, `max_new_tokens`."""

KEYS_OF_DATA = _set("""
    adapter all answer any arrow attention attn audio batch bbox best block box cache call category cfg checkpoint child choice choices
    chosen ckpt class col column completion completions composite conf config content context conversation conversations count cross current
    data dataset date del delete device dict doc document down dtype edge enter entry env environment epoch escape eval every example expert
    extra feature features field file filter first foreign frame function global group grouping hash head history hot i18n id ids idx image
    images img index info input inputs instruction invalid item join json key keys kind kv label labels lang language last layer left length
    local locale log logging logs lookup lora loss lr map mask match matching max media memory merge message messages meta metadata metric
    min missing mm modality model module monitor n name natural new next node num obj object old optimizer option order ordering output
    outputs pad padding param parameter parent partition past path point prefix present press prev previous primary prng prompt prompts pub
    public query question random rank record registered registry rejected response responses reward right rng role root row sample scheduler
    score search seed setting settings shape short shortcut size sort sorting source space split src stat state stats step steps sub subset
    suffix summary surrogate tab tag tags target template tensor test text texts tgt thinking thought time title tokenizer tool tools top
    train translation tree type unexpected unique unknown up uri url val valid validation value values var variable video weight weights xml
    yaml year
""")
"""Keys of data: `dataset_key`, `primary_key`."""

NO_PASS = _set("""
    all any backward both by compile compiler decode each eval extra first forward full fusion graph last max min multi n num one
    optimization partial per post pre prefill second single test third train two
""")
"""Passes that open nothing: `forward_pass`."""

OWNERS = _set("""
    admin bind ca cert cifs db docker file ftp http https imap jks key ldap login mail mongo my mysql pg postgres proxy redis registry root sa
    server smtp sql ssh sshkey sudo svn truststore keystore user vnc vpn web wifi zip
""")
"""In front of `pass` and `pw`, as one word, whose password it is: `dbpass`, `mypw`."""

BY_LOOKS = _set("""
    ak api auth authentication authorization connectionstring cookie cookies cred creds dsn hmac jwt mdp otp sas session sig signature sk webhook
""")
"""Behind these only what looks generated is a secret: `auth: basic` is none."""

VOCABULARY = _set("""
    a access account add admin an and anthropic api apikey auth aws azure basic be bearer credentials env for from github gitlab google hf
    anything hub huggingface id in is it jwt key keys litellm llama lm lmdeploy lmstudio local localai localhost login my name none nothing oauth
    of offline ollama openai or
    pass passwd password personal private public put pwd required
    read secret secrets self set sglang some something studio test tgi the this to token tokens user username value variable vllm wandb whatever
    with write your
""")
"""A value of these words alone says what belongs there: `your-sdk-token`, `my_api_key`."""

PASSWORDS = _set("""
    passphrase passwd password passwort pwd
""")
"""Whatever stands behind these, the key names a secret, unless that is a word of ABOUT or BESIDE."""

BESIDE = _set("""
    account address attempt attempts auth bucket callback check checker client confirm dataset date description email endpoint engine
    expires expired field fields form function handler hash hashed hint host hostname input key keyname label login method namespace
    needed note org organization owner password_file placeholder port project prompt protected protocol question recovery ref region
    repeat repo reset role rule rules scheme section server service status strength tenant title user username users validation validator
    version
""")
"""What stands beside a secret in the same section, and is none: `credentials: {user: …}`; or what is done with one: `password_check`."""

FILLERS = _set("""
    be changeme change dummy enter example fake filled fill foo foobar goes here hidden insert mask masked me mock nope notused not paste
    placeholder redacted replace sample todo unused used your yours
""")
"""Words of a text that is there to be replaced."""

FILLERS_ALONE = _set("""
    changeme insert placeholder redacted replace your yours
""")
"""Beside these any other word is taken for what belongs there: `your-organisation`."""

NAMES = ("name", "key", "Name", "Key", "variable", "var", "env", "k", "path")
VALUES = ("value", "Value", "default", "val", "v", "is")
"""Pairs of the kind `name: HF_TOKEN`, `value: …`."""

READERS = _set("""
    get getenv environ pop getattr get_secret get_password get_token get_credential from_name from_env from_file open path input getpass load
    loads read read_text from_pretrained secret secret_value fetch lookup prompt ask find search resolve
""")
"""Functions whose first argument says where the value is."""

PARSING = _set("""
    accept consume eat expect expect_token match next_token parse peek skip take
""")
"""Functions with which a parser takes a token of a text."""

WITHOUT_VALUES = _set("""
    convert_tokens_to_ids decode encode endswith index lstrip lower print removeprefix removesuffix replace rsplit rstrip split startswith
    strip tokenize tokenizer upper warn info debug error
""")
"""Functions that take texts, none of which becomes the value."""

SAVERS = _set("""
    add authenticate login save set store with use put
""")
"""In front of a word for a secret these make a function's name, whose argument is one: `save_token(…)`."""

KEYWORDS_WITHOUT_VALUES = _set("""
    action base_model cache_dir choices dataset dest description dtype encoding env env_name envvar errors file filename help key metadata
    metavar mode model model_id model_name model_path msg name nargs path prompt pretrained_model_name_or_path repo repo_id repo_type
    revision scope scopes service sep split subfolder timeout title type url username user
""")
"""Arguments of a call that say something about the value."""

SETTING = _set("""
    __setattr__ add add_entry add_header environ from_literal header insert log_param override put putenv register_secret set set_config set_key set_option
    set_tag setattr setdefault setenv store update write
""")
"""Functions that take a key, and its value behind it."""

DEFAULTS = _set("""
    const default default_factory initial value
""")
"""The arguments of an option's declaration that are a value of it."""
