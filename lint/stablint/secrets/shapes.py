"""What tokens look like wherever they stand, and addresses with credentials in them. Every pattern runs in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from string import ascii_letters, ascii_uppercase, digits

from stablint.base.light import Pattern
from stablint.secrets.commands import commanded
from stablint.secrets.hints import vocabulary
from stablint.secrets.keys import SURE, holds_secret, is_placeholder, is_secret

# One vendor a row: what stands at the beginning of its tokens (None: anything), and what follows. No token is longer than its bound, so that no
# text makes a pattern run on and on.
SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Hugging Face", ("hf_", "api_org_"), r"[A-Za-z0-9]{16,100}"),
    ("OpenAI, Anthropic, DeepSeek, Dashscope, OpenRouter and others", ("sk-",), r"[A-Za-z0-9_-]{20,250}"),
    ("GitHub", ("ghp_", "gho_", "ghr_", "ghs_", "ghu_"), r"[A-Za-z0-9]{20,255}"),
    ("GitHub, fine-grained", ("github_pat_",), r"[A-Za-z0-9_]{20,255}"),
    ("GitLab", ("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glagent-", "glsoat-", "glimt-", "glcbt-", "glffct-", "gloas-", "glwt-", "GR1348941"),
     r"[A-Za-z0-9_.-]{16,100}"),
    ("Slack", ("xoxa-", "xoxb-", "xoxc-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[A-Za-z0-9.-]{10,250}"),
    ("Slack, cookie", ("xoxd-",), r"[A-Za-z0-9%+/=_.-]{20,400}"),
    ("AWS key id", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[0-9A-Z]{16}"),
    ("Google API key", ("AIza",), r"[A-Za-z0-9_-]{30,100}"),
    ("Google OAuth", ("ya29.", "GOCSPX-"), r"[A-Za-z0-9_-]{20,300}"),
    ("Weights & Biases", ("wandb_v1_",), r"[A-Za-z0-9_]{20,250}"),
    ("Databricks", ("dapi",), r"[0-9a-f]{32}(?:-[0-9])?"),
    ("Replicate", ("r8_",), r"[A-Za-z0-9]{20,100}"),
    ("Together", ("tgp_v1_",), r"[A-Za-z0-9_-]{20,100}"),
    ("Groq", ("gsk_",), r"[A-Za-z0-9]{20,100}"),
    ("Perplexity", ("pplx-",), r"[A-Za-z0-9]{20,100}"),
    ("xAI", ("xai-", "xai-token-"), r"[A-Za-z0-9]{20,150}"),
    ("Fireworks", ("fw_",), r"[A-Za-z0-9]{20,60}"),
    ("Anyscale", ("esecret_",), r"[A-Za-z0-9]{20,60}"),
    ("NVIDIA", ("nvapi-",), r"[A-Za-z0-9_-]{20,150}"),
    ("Cerebras", ("csk-",), r"[A-Za-z0-9]{20,100}"),
    ("Jina", ("jina_",), r"[A-Za-z0-9_-]{20,120}"),
    ("Pinecone", ("pcsk_",), r"[A-Za-z0-9_]{20,150}"),
    ("LangSmith", ("lsv2_pt_", "lsv2_sk_"), r"[A-Za-z0-9_]{20,100}"),
    ("Langfuse", ("pk-lf-",), r"[A-Za-z0-9-]{20,60}"),
    ("ModelScope", ("ms-",), r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    ("Kaggle", ("KGAT_",), r"[A-Za-z0-9]{20,100}"),
    ("Alibaba Cloud", ("LTAI",), r"[A-Za-z0-9]{12,30}"),
    ("Tencent Cloud", ("AKID",), r"[A-Za-z0-9]{28,40}"),
    ("Volcengine", ("AKLT",), r"[A-Za-z0-9_-]{20,80}"),
    ("SendGrid", ("SG.",), r"[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,80}"),
    ("Mailgun", ("key-",), r"[0-9a-f]{32}"),
    ("Stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), r"[A-Za-z0-9]{16,200}"),
    ("npm", ("npm_",), r"[A-Za-z0-9]{30,60}"),
    ("PyPI", ("pypi-",), r"[A-Za-z0-9_-]{40,250}"),
    ("Docker Hub", ("dckr_pat_", "dckr_oat_"), r"[A-Za-z0-9_-]{20,60}"),
    ("RunPod", ("rpa_",), r"[A-Za-z0-9]{20,80}"),
    ("DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{40,80}"),
    ("HashiCorp Vault", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{20,200}"),
    ("Doppler", ("dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."), r"[A-Za-z0-9.]{30,80}"),
    ("Linear", ("lin_api_",), r"[A-Za-z0-9]{30,60}"),
    ("Notion", ("ntn_",), r"[A-Za-z0-9]{30,60}"),
    ("Grafana", ("glsa_", "glc_"), r"[A-Za-z0-9_+/=]{20,200}"),
    ("Sentry", ("sntrys_", "sntryu_"), r"[A-Za-z0-9_+/=]{20,250}"),
    ("New Relic", ("NRAK-",), r"[A-Z0-9]{20,40}"),
    ("Postman", ("PMAK-",), r"[a-f0-9-]{30,80}"),
    ("Shopify", ("shpat_", "shpss_", "shpca_"), r"[a-fA-F0-9]{32}"),
    ("Supabase", ("sbp_", "sb_secret_"), r"[A-Za-z0-9_-]{20,80}"),
    ("Prefect", ("pnu_", "pnb_"), r"[A-Za-z0-9]{30,60}"),
    ("age", ("AGE-SECRET-KEY-1",), r"[0-9A-Z]{50,60}"),
    ("JSON web tokens, Neptune", ("eyJ",),
     r"[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}|(?<=[A-Za-z0-9_-]{40})={0,2})"),
    ("Telegram", (), r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("Discord", (), r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,50}"),
    ("Azure", (), r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,37}"),
    ("Azure, OpenAI and DevOps", (), r"[A-Za-z0-9]{40,80}(?:JQQJ99|AZDO)[A-Za-z0-9]{4,40}"),
    ("Azure, storage and databases", (), r"[A-Za-z0-9+/]{75,77}(?:AStG|ACDb|ARm[A-Za-z0-9])[A-Za-z0-9+/]{4,12}={0,2}"),
    ("Azure, search and functions", (), r"[A-Za-z0-9_-]{40,46}(?:AzSe|AzFu|AzCa)[A-Za-z0-9_-]{4,12}={0,2}"),
    ("Hugging Face, of a login", ("hf_oauth_", "hf_jwt_"), r"[A-Za-z0-9._-]{20,4000}"),
    ("Google AI Studio", ("AQ.Ab8",), r"[A-Za-z0-9_-]{30,100}"),
    ("Google, refresh", ("1//0",), r"[A-Za-z0-9_-]{40,200}"),
    ("Amazon Bedrock", ("ABSK", "bedrock-api-key-"), r"[A-Za-z0-9+/]{60,2000}={0,2}"),
    ("Tavily", ("tvly-",), r"[A-Za-z0-9-]{20,80}"),
    ("Modal", ("ak-", "as-"), r"[A-Za-z0-9]{22}(?![A-Za-z0-9_-])"),
    ("Atlassian", ("ATATT3", "ATCTT3"), r"[A-Za-z0-9_=-]{50,300}"),
    ("Bitbucket", ("ATBB",), r"[A-Za-z0-9]{24,40}"),
    ("Baidu", ("bce-v3/ALTAK-",), r"[A-Za-z0-9]{15,40}/[0-9a-f]{40}"),
    ("Zhipu", (), r"[0-9a-f]{32}\.(?=[a-z0-9]{0,15}[A-Z])(?=[A-Z0-9]{0,15}[a-z])[A-Za-z0-9]{16}(?![A-Za-z0-9])"),
    ("Vercel", ("vck_", "vcp_", "vca_"), r"[A-Za-z0-9]{24,80}"),
    ("Neon", ("npg_",), r"[A-Za-z0-9]{12,40}"),
    ("Neon, API", ("napi_",), r"[A-Za-z0-9]{40,80}"),
    ("Fly", ("fm2_",), r"[A-Za-z0-9+/=]{40,2000}"),
    ("Netlify", ("nfp_",), r"[A-Za-z0-9]{30,60}"),
    ("Render", ("rnd_",), r"[A-Za-z0-9]{24,40}"),
    ("PlanetScale", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[A-Za-z0-9_.=-]{30,80}"),
    ("Tailscale", ("tskey-",), r"(?:auth|api|client|webhook|scim)-[A-Za-z0-9]{8,30}-[A-Za-z0-9]{20,60}"),
    ("ElevenLabs, Novita", ("sk_",), r"(?:[0-9a-f]{48}|[A-Za-z0-9]{43})(?![A-Za-z0-9_])"),
    ("Stripe, organisation", ("sk_org_",), r"[A-Za-z0-9]{30,100}"),
    ("Chutes", ("cpk_",), r"[0-9a-f]{32}\.[0-9a-f]{32}\.[A-Za-z0-9]{32}"),
    ("Resend", ("re_",), r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}(?![A-Za-z0-9_])"),
    ("Figma", ("figd_",), r"[A-Za-z0-9_-]{36,60}"),
    ("Linear, OAuth", ("lin_oauth_",), r"[0-9a-f]{60,70}"),
    ("RubyGems", ("rubygems_",), r"[0-9a-f]{48}"),
    ("Pulumi", ("pul-",), r"[0-9a-f]{40}"),
    ("Terraform", (), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80}"),
    ("Brevo", ("xkeysib-", "xsmtpsib-"), r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("DingTalk", ("SEC",), r"[0-9a-f]{64}(?![A-Za-z0-9])"),
    ("Firecrawl", ("fc-",), r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("Voyage", ("pa-",), r"[A-Za-z0-9_]{43}(?![A-Za-z0-9_-])"),
    ("Notion, older", ("secret_",), r"[A-Za-z0-9]{43}(?![A-Za-z0-9_-])"),
    ("OpenAI, of a session", ("sess-",), r"[A-Za-z0-9]{40}(?![A-Za-z0-9_-])"),
    ("Pydantic Logfire", ("pylf_v1_",), r"[a-z]{2}_[A-Za-z0-9]{30,60}"),
    ("PostHog", ("phx_",), r"[A-Za-z0-9]{40,60}"),
    ("Buildkite", ("bkua_",), r"[0-9a-f]{40}"),
    ("CircleCI", ("CCIPAT_",), r"[A-Za-z0-9]{20,30}_[0-9a-f]{40}"),
    ("SonarQube", ("squ_", "sqp_", "sqa_"), r"[0-9a-f]{40}"),
    ("Artifactory", ("AKCp", "cmVmdGtu"), r"[A-Za-z0-9]{50,80}(?![A-Za-z0-9])"),
    ("Heroku", ("HRKU-",), r"[A-Za-z0-9_-]{36,80}"),
    ("dbt", ("dbtc_", "dbtu_"), r"[A-Za-z0-9_=-]{36,60}"),
    ("Clojars", ("CLOJARS_",), r"[0-9a-f]{60}"),
    ("Contentful", ("CFPAT-",), r"[A-Za-z0-9_-]{40,50}"),
    ("1Password", ("ops_eyJ",), r"[A-Za-z0-9_-]{100,2000}"),
    ("Dropbox", ("sl.",), r"(?:u\.)?[A-Za-z0-9_-]{120,1500}"),
    ("A private key in base64", ("LS0tLS1CRUdJTi", "LS0tLSBCRUdJTi"), r"[A-Za-z0-9+/_-]{40,20000}={0,2}"),
)  # fmt: skip

_LOGIN = r"(?i)(?:\b|(?<=\\[nrt]))login (?!-)([A-Za-z0-9_-]{24,200})(?=[\\\"'\s]|\Z)"
# These are known by what stands in front of them. The last group of each is the secret.
_BEHIND: tuple[tuple[tuple[str, ...], str], ...] = (
    # Weights & Biases' older keys are any 40 hexadecimal digits.
    (
        ("wandb",),
        r"(?i)wandb[ _.-]{0,3}(?:api[_-]?)?(?:key|token|login)[\\\"' :=(,\]]{1,8}(?:--?\w{1,20}[ =]{1,3}|key ?= ?\\?[\"'])?"
        r"([0-9a-f]{40})(?![0-9a-f])",
    ),
    # A scheme and its credentials; without `Authorization` in front, `bearer` and `basic` are words of English.
    (
        ("authorization",),
        r"(?i)authorization(?:\\?[\"'])?\]?[ \t]{0,8}[:=,][ \t]{0,8}(?:[bf]?\\?[\"'])?"
        r"(?:bearer|basic|token|apikey|api-key|key|bot|digest|splunk|negotiate|genie-?key)[ =]{1,3}[\"']?([^\s\"'\\<>,;]{3,4000})",
    ),
    (
        ("bearer ",),
        r"(?i)(?:\b|(?<=\\[nrt]))bearer[ ]{1,3}((?=[^\s]{0,200}?[0-9])[A-Za-z0-9._~+/=-]{4,4000}|[A-Za-z0-9._~+/=-]{20,4000})",
    ),
    (
        ("basic ",),
        r"(?:\b|(?<=\\[nrt]))(?i:basic)[ ]{1,3}((?=[^\s]{0,200}?[0-9=])(?=[^\s]{0,200}?[A-Z])[A-Za-z0-9+/]{12,4000}={0,2})(?![\w./-])",
    ),
    (
        ("webhook", "hooks.", "/hook/"),
        r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|webhook\.office\.com/|outlook\.office\.com/webhook/)"
        r"([A-Za-z0-9_/@=.-]{8,300})",
    ),
    (("login",), _LOGIN),
    (("login",), r"(?i)(?:\b|_)login\([ ]?[bf]?\\?[\"'](?!https?:)([^\s\"'\\]{5,200})(?=\\?[\"'])"),
    # echo … | docker login --password-stdin
    (
        ("echo ", "printf "),
        r"\b(?:echo|printf)[ ]{1,4}(?:-\w{1,4}[ ]{1,4}){0,3}(?:['\"]?%s(?:\\{1,2}n)?['\"]?[ ]{1,4})?\\?[\"']?([^\s\"'|;&\\]{3,400})(?:\\{1,2}n)?\\?[\"']?"
        r"[ ]{0,4}\|[ ]{0,4}[^\n|;]{0,120}?\b(?:login|--?pass\w*(?:-stdin|-fd)?|password|passphrase|sudo -S|chpasswd|secret (?:create|set)|su|kinit)\b",
    ),
    (("login",), r"<<-?[ ]?[\"']?\w{1,40}[\"']?[ ]?\|[^\n|;]{0,80}\blogin\b[^\n|;]{0,80}\n([^\s]{3,400})(?=\n)"),
    # into a file that holds a secret
    (
        ("echo ", "printf "),
        r"\b(?:echo|printf)[ ]{1,4}(?:-\w{1,4}[ ]{1,4}){0,3}[\"']?([^\s\"'|;&<>\\]{3,400})(?:\\{1,2}n)?[\"']?[ ]{0,4}>{1,2}[ ]{0,4}"
        r"[\"']?(?:[^\s;&|]{0,120}[/._])?(?:token|password|passwd|pgpass|netrc|secret|vault_pass|credentials)(?:\.txt)?(?=[\s\"';&]|\Z)",
    ),
    (("jdbc:oracle:",), r"jdbc:oracle:\w{1,10}:[^\s/@\"']{1,60}/([^\s@\"']{3,200})@"),
    (("x-oauth-basic@",), r"://([^\s:/@\"']{8,300}):x-oauth-basic@"),
    # a password twice for a program that asks for it
    (
        ("passwd",),
        r"\b(?:echo|printf)[ ]{1,4}(?:-\w{1,4}[ ]{1,4}){0,3}\\?[\"']([^\s\"'|;&\\]{3,100})(?:\\{1,2}n|\n)"
        r"\1(?:\\{1,2}n)?\\?[\"'][ ]{0,4}\|[^\n|;]{0,60}\bpasswd\b",
    ),
    # printf '%s' … > token.txt
    (
        ("printf ",),
        r"\bprintf[ ]{1,4}[\"']?%s(?:\\{1,2}n)?[\"']?[ ]{1,4}[\"']?([^\s\"'|;&<>\\]{3,400})[\"']?[ ]{0,4}>{1,2}[ ]{0,4}[\"']?(?:[^\s;&|]{0,120}[/._])?"
        r"(?:token|password|passwd|pgpass|netrc|secret|vault_pass|credentials)(?:\.txt)?(?=[\s\"';&]|\Z)",
    ),
    # the first arguments of constructors
    (("oss2.",), r"\boss2\.(?:Sts)?Auth\([ ]?\\?[\"']([^\"'\s\\]{3,200})"),
    (("oss2.",), r"\boss2\.(?:Sts)?Auth\([^,()\n]{1,200},[ ]{0,4}\\?[\"']([^\"'\s\\]{3,200})"),
    (
        (".connect(",),
        r"\.connect\([^,()=\n]{1,200},[ ]{0,4}\\?[\"'][\w.@-]{1,60}\\?[\"'],[ ]{0,4}\\?[\"']([^\"'\s\\]{3,200})(?=\\?[\"'][ ]?[,)])",
    ),
    (("expect",), r"\bsend[ ](?:--[ ])?\\?[\"]([^\s\"\\$]{3,200})\\{1,2}[rn]\\?[\"]"),
    (("s3filesystem(",), r"\bS3FileSystem\((?:True|False)[ ]?,[ ]{0,4}\\?[\"']([^\"'\s\\]{3,200})"),
    (("s3filesystem(",), r"\bS3FileSystem\((?:True|False)[ ]?,[^,()\n]{1,200},[ ]{0,4}\\?[\"']([^\"'\s\\]{3,200})"),
    (("comet_ml.",), r"\bcomet_ml\.(?:Offline|Existing)?Experiment\([ ]?\\?[\"']([^\"'\s\\]{3,200})"),
    (
        ("anthropic.", "cohere.", "github(", "telegram.", "fernet("),
        r"\b(?:(?:anthropic|cohere)\.(?:Async)?Client(?:V2)?|Github|telegram\.Bot|Fernet)\([ ]?b?\\?[\"']([^\"'\s\\]{3,200})",
    ),
    (("hmac.",), r"\bhmac\.new\([ ]?b?\\?[\"']([^\"'\s\\]{3,200})"),
    (
        ("github(", "yagmail.", "jwt.", "minio("),
        r"\b(?:Github|yagmail\.SMTP|jwt\.encode|Minio)\([^,()\n]{1,200},[ ]{0,4}b?\\?[\"']([^\"'\s\\]{3,200})",
    ),
    (("boto3.", "tosclient"), r"\b(?:boto3\.Session|TosClient(?:V2)?)\([ ]?\\?[\"']([^\"'\s\\]{3,200})"),
    (
        ("boto3.", "tosclient"),
        r"\b(?:boto3\.Session|TosClient(?:V2)?)\([^,()=\n]{1,200},[ ]{0,4}\\?[\"']([^\"'\s\\]{3,200})",
    ),
    (("minio(",), r"\bMinio\([^,()=\n]{1,200},[^,()=\n]{1,200},[ ]{0,4}\\?[\"']([^\"'\s\\]{3,200})"),
    (("redis(",), r"\bredis\.(?:Strict)?Redis\((?:[^,()=\n]{1,100},[ ]{0,4}){3}\\?[\"']([^\"'\s\\]{3,200})"),
    (("cookie",), r"(?i)\bcookie:[ ]{0,3}[\w.-]{1,60}=([^\s\"'\\;,]{6,2000})"),
    # read from a substitution: --with-token < <(echo …)
    (
        ("echo ",),
        r"\b(?:login|with-token|passwd_file=|key-file|PASSFILE=|private-key|netrc-file)[^\n|;()]{0,60}<[ ]?(?:<[ ]?)?\([ ]?echo[ ]{1,3}"
        r"[\"']?(?:[\w*]{1,20}:){0,5}"
        r"([^\s\"'()|;&]{3,400})",
    ),
    # SQL
    (("identified by",), r"(?i)\bidentified (?:with \w{1,40} )?by [\"']([^\"'\s]{3,200})"),
    # in the address of Telegram's methods
    ((":aa",), r"bot([0-9]{8,10}:AA[A-Za-z0-9_-]{33})"),
    # "scheme://user:" + "…" + "@host"
    (("://",), r"://[^\s\"'/@]{0,100}:\\?[\"'][ ]{0,4}\+[ ]{0,4}[rbf]?\\?[\"']([^\s\"'\\]{3,200})"),
    (
        ("<<<",),
        r"\b(?:login|passwd|vncpasswd|password-stdin|sudo -S|su|kinit|age|gpg|autoexpect|secrets? create|configure --token)\b"
        r"[^\n|;<]{0,120}<<<[ ]{0,4}[\"']?([^\s\"']{3,400})",
    ),
    (("password ",), r"(?i)\blogin[ \t\n\r]{1,8}[^\s]{1,100}[ \t\n\r]{1,8}password[ ]{1,4}([^\s\"'$<\\]{3,200})"),
)
# What begins a private key, and where it ends that no line says it of.
_KEY_BEGINS = Pattern(
    r"(?i)----[ -]BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?[ -]----|^Private-Lines:[ \t]{0,4}[0-9]{1,3}"
    r"|minisign (?:encrypted )?secret key(?=[\r\n])",
    re.MULTILINE,
)
_KEY_MARKS = ("private key", "private-lines", "minisign")
_LONGEST_KEY = 20_000
_KEY_ENDS = Pattern(r"(?i)----[ -]?END|^Private-(?:MAC|Hash):", re.MULTILINE)

_SCHEME_END = "://"
_ESCAPED_END = r":\/\/"  # as JSON may spell it
_USERINFO = Pattern(r"""[^\s"'<>\\]{1,1000}@(?=[\w\[.-])""")
_PORT = Pattern(r"[0-9]{1,5}(?:[/?#|]|\Z)")
_SCHEME = Pattern(r"[A-Za-z][A-Za-z0-9+.-]{0,30}\Z")
_QUERY = Pattern(
    r"""(?i)[?&#;]([a-z0-9_.-]{0,40}(?:token|secret|password|passwd|pwd|credential|apikey|api[_-]key|access[_-]?key|auth|signature|sig|key))=([^\s"'<>\\`&#;$]{6,2000})"""
)
_MARKS = tuple(dict.fromkeys(mark for _, marks, _ in SHAPES for mark in marks))
# What stands in front of them, with the longest word in it, which stands in a word of the text.
_BEHIND_MARKS = {mark: max(re.findall(r"\w*", mark), key=len) for marks, _ in _BEHIND for mark in marks}
_SHORTEST = 15  # letters of a token without blanks: no row above is shorter


_ALL = frozenset({*_MARKS, ""})


@lru_cache(maxsize=64)
def _tokens(there: frozenset[str] = _ALL) -> re.Pattern[str]:
    """Of the rows with these marks; those without marks go by the empty one."""
    rows = [
        f"(?:{'|'.join(re.escape(mark) for mark in marks)})(?:{rest})" if marks else f"(?:{rest})"
        for _, marks, rest in SHAPES
        if not there.isdisjoint(marks or ("",))
    ]
    return re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(rows) + ")")


@lru_cache(maxsize=64)
def _escaped_tokens(there: frozenset[str] = _ALL) -> re.Pattern[str]:
    """Behind an escape, whose last letter is no letter of the text: `\\n`, `\\x0a`, `\\u000a`, `%20`, the end of a terminal's colour."""
    escape = r"(?:\\(?:[abefnrtvz0]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{3})|%[0-9A-Fa-f]{2}|\[[0-9;]{0,12}m)"
    tokens = _tokens(there).pattern.partition(")")[2]
    return re.compile(f"{escape}({tokens})")


_EDGE = r"(?:(?<![A-Za-z0-9_])|(?![A-Za-z0-9_]))"
"""Of a word of English: letters of other scripts may stand next to it, as Chinese does without a blank."""


@cache
def _behind(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(r"\b", _EDGE))


_STARS = Pattern(r"[*xX.…-]{6,}")


def shaped(text: str) -> Iterator[tuple[int, int]]:
    """Where tokens of a known shape and credentials in addresses stand."""
    plain, escaped = _marked(text)
    if plain:
        yield from (found.span() for found in _tokens(plain).finditer(text) if _is_token(found[0]))
    if escaped:
        yield from (found.span(1) for found in _escaped_tokens(escaped).finditer(text) if _is_token(found[1]))
    lowered = text.lower()
    words = vocabulary(text)
    there = {mark for mark, core in _BEHIND_MARKS.items() if core in words and mark in lowered}
    for marks, pattern in _BEHIND if there else ():
        if not there.isdisjoint(marks):
            yield from (found.span(1) for found in _behind(pattern).finditer(text) if _is_no_word(found[1], pattern))
    yield from commanded(text)
    if any(mark in lowered for mark in _KEY_MARKS):
        yield from _private_keys(text)
    for separator in (_SCHEME_END, _ESCAPED_END):
        if separator in text:
            yield from _addresses(text, separator)


# All that tokens are made of; what else stands in a text ends them.
_RUN = re.compile(r"[A-Za-z0-9_.+/=~%:-]+")
# What stands between a backslash (or the colour of a terminal) and a token, from the beginning of a run on, and an escape of an address.
_REST_OF_ESCAPE = Pattern(
    r"(?:\n(?:[abefnrtvz0]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{3}|[0-9]{0,12}m)|%[0-9A-Fa-f]{2})\Z"
)
_LONGEST_ESCAPE = 14
_LETTERS = frozenset(ascii_letters + digits)


def _marked(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The marks of tokens that stand where one may begin, and those behind an escape."""
    runs = {run for run in _RUN.findall(text) if len(run) >= _SHORTEST}
    long = "\n".join(["", *runs])
    if any(mark in long for mark in _WITHIN) or ("." in long and _DOTTED.search(long) is not None):
        return _ALL, _ALL
    plain, escaped = set[str](), set[str]()
    for mark in _MARKS:
        at = long.find(mark)
        while at >= 0:
            if long[at - 1] not in _LETTERS:
                plain.add(mark)
            elif _REST_OF_ESCAPE.search(long, max(0, at - _LONGEST_ESCAPE), at) is not None:
                escaped.add(mark)
            at = long.find(mark, at + 1)
    return frozenset(plain), frozenset(escaped)


_WITHIN = (":AA", "7Q~", "8Q~", "JQQJ99", "AZDO", "AStG", "ACDb", "ARm", "AzSe", "AzFu", "AzCa", ".atlasv1.")
"""Marks in the midst of tokens."""
_DOTTED = Pattern(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.|[0-9a-f]{32}\.[A-Za-z0-9]{16}")


def _is_filler(token: str) -> bool:
    """`hf_xxxxxxxxxxxxxxxxxxxx`: there to be replaced."""
    return _STARS.search(token) is not None or "your" in token.lower()


_VERSION = Pattern(r"[vV]?[0-9]{1,4}\Z")
_ACCOUNTS = ("AKIA", "ABIA", "ACCA")  # a word begins with none of these


_NO_WORD = 32  # letters without a break behind a vendor's mark, of whatever kind


def _is_token(text: str) -> bool:
    """Neither there to be replaced, nor made of words as the names of models and files are: `sk-learn-style-baseline`."""
    if _is_filler(text):
        return False
    if text.startswith(_ACCOUNTS):
        return True
    return any(_is_random(piece) for piece in re.split(r"[^A-Za-z0-9]+", text))


def _is_random(piece: str) -> bool:
    core = _VERSION.sub("", piece) if not piece.isdigit() else piece
    core = core.lstrip(ascii_uppercase) if len(core) > 14 and not core.isupper() else core  # `LTAIrlineReviews`
    if len(core) < 5:
        return False
    if len(core) >= _NO_WORD:
        return True
    digits = sum(c.isdigit() for c in core)
    if digits == len(core):
        return digits >= 9
    change_points = sum(a.isdigit() != b.isdigit() for a, b in pairwise(core))
    if change_points >= 2 or (digits and len(core) >= 16):
        return True
    capitals = sum(c.isupper() for c in core[1:])
    return len(core) >= 12 and capitals >= 0.2 * len(core) and any(c.islower() for c in core)


def _is_no_word(secret: str, pattern: str = "") -> bool:
    if pattern is _LOGIN and not _is_token(secret):
        return False
    return not _is_filler(secret) and not is_placeholder(secret)


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """From the first line of a private key to its last, as PEM, SSH2, PuTTY and minisign write it; the labels stay."""
    at = 0
    while found := _KEY_BEGINS.search(text, at):
        limit = min(found.end() + _LONGEST_KEY, len(text))
        last = _KEY_ENDS.search(text, found.end(), limit)
        end = last.start() if last is not None else limit
        yield found.end(), end
        at = max(end, found.end())


def _addresses(text: str, separator: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (at := text.find(separator, at)) >= 0:
        begin, at = at, at + len(separator)
        if not _SCHEME.search(text, max(0, begin - 31), begin):
            continue
        user = _userinfo(text, at)
        if user is not None:
            yield user
            at = user[1]
        limit = min(len(text), at + 3000)
        stop = next((i for i in range(at, limit) if text[i] in " \t\r\n\"'<>`\\"), limit)
        for query in _QUERY.finditer(text, at, stop):
            key, value = query[1].replace("-", "_"), query[2]
            surely = key.lower() in ("sig", "signature") or (key.lower() == "key" and any(c.isdigit() for c in value))
            if not _is_filler(value) and (holds_secret(SURE, value) if surely else is_secret(key, value)):
                yield query.span(2)
        at = max(at, stop)


_USERS = frozenset(
    ("oauth2", "x-access-token", "x-token-auth", "username", "gitlab-ci-token", "anonymous", "__token__")
)


def _userinfo(text: str, at: int) -> tuple[int, int] | None:
    """Of `scheme://user:secret@host` the secret, of `scheme://token@host` the token."""
    found = _USERINFO.match(text, at)
    if found is None:
        return None
    whole = found[0]
    # An @ of the password stands before the last one of the authority; a secret of AWS may hold a slash.
    authority = whole.partition("/")[0]
    if "@" in authority:
        whole = authority[: authority.rindex("@") + 1]
    else:
        whole = whole[: whole.index("@") + 1]
    name, colon, secret = whole[:-1].partition(":")
    if colon:
        # `https://host/path@main` and `http://localhost:8000/x@y` have no user; `s3://KEYID:SE/CRET@bucket` has one.
        port = _PORT.match(secret)
        if (
            not secret
            or "/" in name
            or (port is not None and not port[0].isdigit())
            or _is_filler(secret)
            or is_placeholder(secret)
        ):
            return None
        start = at + len(name) + 1
        return start, start + len(secret)
    if "/" in name or not _is_no_word(name):
        return None
    if len(name) < 12 or not any(c.isdigit() for c in name):
        # A word: of a user of this host, mostly, but for those who may open what lies behind a page.
        if not text.endswith(("http", "https"), 0, at - len(_SCHEME_END)) or len(name) < 6 or name.lower() in _USERS:
            return None
        behind = re.split(r"[/?#\s\"'<>]", text[at + len(name) + 1 : at + len(name) + 300], maxsplit=4)
        if name in behind[1:4] or not all(c.isalnum() or c in "._~!$*+-" for c in name):
            return None
    return at, at + len(name)
