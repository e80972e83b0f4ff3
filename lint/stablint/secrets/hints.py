"""Cheap signs that a text may hold a secret. Most outputs have none of them, and then no pattern is compiled."""

from __future__ import annotations

from functools import lru_cache

from stablint.base.light import Pattern

IN_OTHER_LANGUAGES = (
    "contrase", "senha", "mot_de_passe", "motdepasse", "mot-de-passe", "kennwort", "wachtwoord", "salasana", "parola",
    "пароль", "密码", "密碼", "密钥", "密鑰", "口令", "令牌", "パスワード", "비밀번호", "şifre", "lösenord", "hasło",
    "geheim", "秘钥", "秘鑰", "私钥", "私鑰", "凭证", "憑證", "授权码", "授權碼", "暗号",
    "暗証番号", "秘密鍵", "アクセスキー", "암호", "비밀키", "секрет", "κωδικό",
    "jelszó",
    "heslo", "lozinka", "adgangskode", "كلمة", "סיסמה", "รหัสผ่าน", "mật_khẩu",
    "金钥", "金鑰", "权杖", "權杖", "凭据", "憑據", "提取码", "提取碼", "验证码", "驗證碼", "访问码", "激活码", "通行码", "パスフレーズ", "パスコード",
    "認証キー", "合言葉", "비번", "패스워드", "인증키", "гасло", "лозинк", "құпия", "contrasenya", "lykilorð", "fjalëkalim", "salasõna", "slaptažod",
    "clé_", "truy_cập", "паролі", "пінкод", "пинкод", "سری", "عبور", "گذرواژه", "السر", "पासवर्ड", "পাসওয়ার্ড",
)  # fmt: skip
"""In small letters: words for a password in languages other than English. Every key with one of them names a secret."""

TOKENS_ELSEWHERE = ("トークン", "토큰", "токен")
"""In small letters: tokens in other languages, those of language models as well."""

PLAIN_OTHERS = tuple(word for word in IN_OTHER_LANGUAGES if word.isascii())
OTHERS = (*(word for word in IN_OTHER_LANGUAGES if not word.isascii()), *TOKENS_ELSEWHERE)

IN_KEYS = (
    "token", "key", "secret", "pass", "pwd", "cred", "auth", "bearer", "pat", "cookie", "signature", "sk", "ak", "sas", "dsn",
    "webhook", "hmac", "jwt", "api", "connection", "stringdata", "pw", "psw", "otp", "mdp", "clave", "_login", "pincode", "mnemonic", "code", "phrase",
    "_tok", "jeton", "kouling", "lingpai", "mima", "miyao",
    *IN_OTHER_LANGUAGES, *TOKENS_ELSEWHERE,
)  # fmt: skip
"""In small letters: a key that names a secret holds one of these."""

IN_TEXT = (
    "token", "key", "secret", "passw", "passphrase", "passcode", "pwd", "cred", "auth", "bearer", "cookie", "signature", "dsn", "webhook", "hmac", "jwt",
    "connection", "stringdata", "_pass", "pass_w", "pass_p", "pass_c", "pass w", "pass p", "passord",
    "pswd", "pwrd", "pincode", "mnemonic", "_phrase", "access_code", "unlock_code", "recovery_code", "security_code", "backup_code", "_tok", "jeton",
    "kouling", "lingpai", "mima", "miyao", "psk", "loginkey", "keyphrase",
    "_pat ", " pw ", "_login", "\\u00", *PLAIN_OTHERS,
)  # fmt: skip
"""The same where text stands around the key: `pass` alone is an English word."""

SHORT = ("pass", "pat", "sk", "ak", "sas", "api", "pw", "psw", "otp", "mdp", "clave")
"""These count where a sign follows, or where a flag ends in them."""

IN_SHAPES = (
    "://", ":\\/\\/", "login", "curl", "wget", "sshpass", "mysql", "redis-cli", "docker", "hooks.", "/hook/", "echo ", "printf ", "<<<",
    "basic ", "identified by", "jdbc:oracle:", "oss2.", "s3filesystem(", "comet_ml.", ".connect(", "expect", "passwd",
)  # fmt: skip
"""In small letters: what stands beside secrets that are known by their surroundings."""

IN_COMMANDS = (
    "kaggle ", "ngrok ", "vastai ", "modal ", "runpodctl", "tailscale", "cloudflared", "doctl ", "gh ", "git ", "twine ", "poetry ", "npm ", "aws ",
    "mc ", "b2 ", "dvc ", "ossutil", "obsutil", "coscmd ", "coscli ", "http -", "mariadb", "mongo", "sqlcmd ", "ldapsearch", "lftp ", "smbclient",
    "openssl", "gpg ", "zip ", "7z ", "7za ", "7zz ", "rar ", "useradd", "usermod", "htpasswd",
    "nerdctl", "skopeo", "etcdctl", "consul ", "snowsql", "gotify", "redis-server", "openxlab", "bcecmd", "tosutil", "aliyun ", "s5cmd", "ssh-keygen",
    "ccrypt", "frpc ", "pulumi", "wpa_passphrase", "psql ", "rclone", "keyvault", "su ", "kinit", "age ", "crane ", "configure --token",
    "anthropic.", "cohere.", "github(", "telegram.", "fernet(", "minio(", "boto3.", "tosclient", "yagmail.", "redis(", "jwt.", "hmac.",
)  # fmt: skip
"""In small letters: programs that take a secret without a name for it (`commands`), apart from those above."""

MARKS = (
    "hf_", "api_org_", "sk-", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "gldt-", "glrt-", "glptt-", "glft-",
    "glagent-", "glsoat-", "glimt-", "glcbt-", "glsa_", "glc_", "xox", "xapp-", "AKIA", "ASIA", "ABIA", "ACCA", "AIza", "ya29.", "GOCSPX-",
    "wandb", "dapi", "r8_", "tgp_v1_", "gsk_", "pplx-", "xai-", "fw_", "esecret_", "nvapi-", "csk-", "jina_", "pcsk_", "lsv2_", "pk-lf-",
    "ms-", "KGAT_", "LTAI", "AKID", "AKLT", "SG.", "key-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", "npm_", "pypi-",
    "dckr_", "rpa_", "dop_v1_", "doo_v1_", "dor_v1_", "hvs.", "hvb.", "hvr.", "dp.", "lin_api_", "ntn_", "NRAK-", "PMAK-", "sntry",
    "shpat_", "shpss_", "shpca_", "sbp_", "sb_secret_", "pnu_", "pnb_", "AGE-SECRET", "eyJ", ":AA", "7Q~", "8Q~", "PRIVATE KEY",
    "glffct-", "gloas-", "glwt-", "GR1348941", "JQQJ99", "AZDO", "AStG", "ACDb", "AzSe", "AzFu", "AzCa", ".atlasv1.", "AQ.Ab8", "ABSK",
    "bedrock-api-key-", "1//0", "tvly-", "ATATT3", "ATCTT3", "ATBB", "bce-v3/", "vck_", "vcp_", "vca_", "npg_", "napi_", "fm2_", "nfp_",
    "rnd_", "pscale_", "tskey-", "cpk_", "figd_", "lin_oauth_", "rubygems_", "pul-", "xkeysib-", "xsmtpsib-", "sess-", "pylf_v1_", "phx_",
    "bkua_", "CCIPAT_", "squ_", "sqp_", "sqa_", "AKCp", "cmVmdGtu", "HRKU-", "dbtc_", "dbtu_", "CLOJARS_", "CFPAT-", "LS0tLS1CRUdJTi",
    "LS0tLSBCRUdJTi", "minisign",
)  # fmt: skip

_IN_LOWERED = (*IN_TEXT, *IN_SHAPES, *IN_COMMANDS)

SHORT_MARKS = r"(?<![A-Za-z0-9])(?:ak-|as-|sk_|re_|fc-|pa-|SEC|sl\.)[A-Za-z0-9._-]{22}"
"""Marks that are ends of words as well, and what no word behind them has."""
_short_mark = Pattern(SHORT_MARKS)


def may_hold_key(lowered: str) -> bool:
    """Of a text in small letters."""
    return any(word in lowered for word in IN_KEYS)


_LONG = 4_000  # characters


def may_hold_secret(text: str) -> bool:
    if len(text) > _LONG:  # no sign goes on in another line, and the lines of a report are much alike
        text = "\n".join({*text.split("\n"), ""})
    lowered = text.lower()
    for mark in _IN_LOWERED:  # loops: most texts are gone through to their end, and many are short
        if mark in lowered:
            return True
    for mark in MARKS:
        if mark in text:
            return True
    return (
        _short_mark.search(text) is not None
        or (not text.isascii() and any(word in lowered for word in OTHERS))
        or any(_short_key(lowered, word) for word in SHORT)
        or _long_words(text)
    )


def _short_key(lowered: str, word: str) -> bool:
    """`dbPass : …`, `"pat": …`, `--db-pass …`."""
    at = lowered.find(word)
    while at >= 0:
        end = at + len(word)
        if not lowered[end : end + 1].isalnum():
            behind = lowered[end : end + 60].lstrip(" _\t\"'\\])`")
            if behind[:1] in _SIGNS or (lowered[end : end + 1] in " \t" and _in_flag(lowered, at)):
                return True
        at = lowered.find(word, end)
    return False


_SIGNS = frozenset("=:：,\r\n")


def _in_flag(lowered: str, at: int) -> bool:
    return lowered[max(0, at - 60) : at].rpartition(" ")[2].startswith("-")


def _long_words(text: str) -> bool:
    """Tokens of Discord and Telegram have no mark of their own, but no blank in fifty letters either."""
    return any(len(word) > 44 and word.isascii() for word in text.split())


_WORD = Pattern(r"\w+")


@lru_cache(maxsize=2)
def words_of(text: str) -> frozenset[str]:
    """The different words of a text, several times shorter than the text: what stands in none of them need not be looked for."""
    return frozenset(_WORD.findall(text))


@lru_cache(maxsize=2)
def vocabulary(text: str) -> str:
    """The same in small letters, one a line. What holds signs between its letters is looked for in the text itself."""
    return "\n".join(words_of(text)).lower()
