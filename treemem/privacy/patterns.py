"""Lists the formats of well-known tokens and the words that name a secret.

Contains only data. The formats are those that the services publish and that secret scanners agree
on. Every change must increment VERSION, so that logs are read again under the new rules.

Tested in tests/privacy/test_redactor.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from treemem.patterns import lazy_regex

VERSION = 2
# Every token of TOKENS contains a run of this many word characters.
RUN_CHARS = 20


class Rule(NamedTuple):
    """A token format. label: the label for its marker. begins: a pattern for the first characters
    of the token. rest: a pattern for the characters after them."""

    label: str
    begins: str
    rest: str


# Each token begins where no letter or digit precedes it, and contains a run of RUN_CHARS word
# characters that begins at most six characters after its start.
# Subtle: every repetition has an upper limit. A run longer than any real token is not a token, and
# a hostile text must not cause excessive backtracking.
TOKENS = (
    Rule("aws-key", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z2-7]{16}(?![A-Za-z0-9+/])"),
    Rule("anthropic-key", r"sk-ant-", r"[A-Za-z0-9_-]{20,400}"),
    Rule("openai-key", r"sk-(?:proj|svcacct|admin|None)-", r"[A-Za-z0-9_-]{20,400}"),
    Rule("openrouter-key", r"sk-or-", r"[A-Za-z0-9_-]{20,400}"),
    Rule("api-key", r"sk-", r"(?=[A-Za-z-]{0,40}[0-9])[A-Za-z0-9]{20,200}"),
    Rule("stripe-key", r"(?:sk|rk)_(?:live|test)_", r"[A-Za-z0-9]{16,250}"),
    Rule("stripe-key", r"whsec_", r"[A-Za-z0-9+/]{24,100}={0,2}"),
    Rule("github-token", r"gh[pousr]_", r"[A-Za-z0-9]{36,255}"),
    Rule("github-token", r"github_pat_", r"[A-Za-z0-9_]{40,255}"),
    Rule("gitlab-token", r"gl(?:pat|dt|rt|ft|ptt|soat|agent|imt|oas|cbt|ffct)-",
         r"[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{2,9}){0,2}"),
    Rule("slack-token", r"xox[abeoprs]-", r"[A-Za-z0-9-]{10,255}"),
    Rule("slack-token", r"xapp-", r"[0-9]-[A-Z0-9]{6,20}-[0-9]{6,20}-[a-f0-9]{20,128}"),
    Rule("google-key", r"AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    Rule("google-token", r"ya29\.", r"[A-Za-z0-9_-]{30,2000}"),
    Rule("google-secret", r"GOCSPX-", r"[A-Za-z0-9_-]{20,60}"),
    Rule("huggingface-token", r"hf_", r"[A-Za-z0-9]{30,60}(?![A-Za-z0-9_])"),
    Rule("npm-token", r"npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    Rule("pypi-token", r"pypi-AgE", r"[A-Za-z0-9_-]{50,1000}"),
    Rule("jwt", r"eyJ",
         r"[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,4096})?"),
    Rule("sendgrid-key", r"SG\.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    Rule("sendinblue-key", r"xkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Rule("telegram-token", r"(?<=[0-9]{8}:)AA", r"[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    Rule("twilio-key", r"SK(?=[0-9a-f]{4})", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Rule("shopify-token", r"shp(?:at|ca|pa|ss)_", r"[a-fA-F0-9]{32}"),
    Rule("square-token", r"sq0(?:atp|csp)-", r"[A-Za-z0-9_-]{22,60}"),
    Rule("digitalocean-token", r"do[opr]_v1_", r"[a-f0-9]{64}"),
    Rule("databricks-token", r"dapi(?=[a-f0-9])", r"[a-f0-9]{32}(?:-[0-9])?"),
    Rule("vault-token", r"hv[sb]\.", r"[A-Za-z0-9_-]{24,400}"),
    Rule("grafana-token", r"glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    Rule("grafana-token", r"glc_ey", r"[A-Za-z0-9+/]{30,400}={0,2}"),
    Rule("sentry-token", r"sntry[su]_", r"[A-Za-z0-9+/=_-]{40,300}"),
    Rule("linear-key", r"lin_api_", r"[A-Za-z0-9]{40}"),
    Rule("notion-token", r"ntn_", r"[A-Za-z0-9]{40,60}"),
    Rule("newrelic-key", r"NR(?:AK|JS|II)-", r"[A-Za-z0-9]{19,40}"),
    Rule("postman-key", r"PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    Rule("pulumi-token", r"pul-", r"[a-f0-9]{40}"),
    Rule("perplexity-key", r"pplx-", r"[A-Za-z0-9]{40,60}"),
    Rule("groq-key", r"gsk_", r"[A-Za-z0-9]{40,60}"),
    Rule("xai-key", r"xai-", r"[A-Za-z0-9]{60,100}"),
    Rule("replicate-token", r"r8_", r"[A-Za-z0-9]{37}(?![A-Za-z0-9])"),
    Rule("planetscale-token", r"pscale_(?:tkn|oauth|pw)_", r"[A-Za-z0-9_.=-]{32,64}"),
    Rule("atlassian-token", r"ATATT3", r"[A-Za-z0-9_=-]{100,300}"),
    Rule("alibaba-key", r"LTAI", r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    Rule("fly-token", r"fm[12][ar]?_", r"[A-Za-z0-9+/]{80,2000}={0,3}"),
    Rule("doppler-token", r"dp\.(?:pt|st|ct|sa)\.", r"[A-Za-z0-9._-]{40,80}"),
    Rule("docker-token", r"dckr_[po]at_", r"[A-Za-z0-9_-]{20,60}"),
    Rule("age-key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    Rule("facebook-token", r"EAA(?=[A-Z])", r"[A-Za-z0-9]{80,400}"),
    Rule("1password-token", r"ops_eyJ", r"[A-Za-z0-9+/]{200,4000}={0,3}"),
    Rule("1password-key", r"A3-", r"[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}(?![A-Z0-9])"),
    Rule("airtable-token", r"pat(?=[A-Za-z0-9]{14}\.)", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Rule("asana-token", r"[12]/(?=[0-9]{13})", r"[0-9]{13,20}(?:/[0-9]{13,20})?:[a-f0-9]{32}"),
    Rule("aws-key", r"ABSK(?=[A-Z])", r"[A-Za-z0-9+/]{100,300}={0,2}"),
    Rule("aws-token", r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)", r"[A-Za-z0-9+/=%_-]{60,2048}"),
    Rule("crates-token", r"cio(?=[A-Z0-9a-z]{32})", r"[A-Za-z0-9]{32}(?![A-Za-z0-9_-])"),
    Rule("discord-token", r"(?:M|N|O)(?=[A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.)",
         r"[A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?![A-Za-z0-9_-])"),
    Rule("doppler-token", r"dp\.(?:scim|audit|said)\.", r"[A-Za-z0-9._-]{40,80}"),
    Rule("dropbox-token", r"sl\.(?:u\.|B)", r"[A-Za-z0-9_-]{60,2000}"),
    Rule("dynatrace-token", r"dt0[a-z][0-9]{2}\.", r"[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    Rule("google-token", r"[14]//?0", r"[A-Za-z0-9_-]{38,250}"),
    Rule("harness-token", r"[ps]at\.(?=[A-Za-z0-9_-]{22}\.)",
         r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    Rule("infisical-token", r"st\.(?=[a-f0-9-]{8,40}\.)",
         r"[a-f0-9-]{8,40}\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    Rule("jfrog-token", r"AKCp", r"[A-Za-z0-9]{69,76}"),
    Rule("jfrog-token", r"cmVmd", r"[A-Za-z0-9]{59}(?![A-Za-z0-9])"),
    Rule("jwt", r"eyJ", r"[A-Za-z0-9_-]{8,4096}(?:\.[A-Za-z0-9_-]{0,8192}){4}"),
    Rule("jwt", r"ZXlK", r"[A-Za-z0-9+/_-]{80,8192}={0,2}"),
    Rule("mailchimp-key", r"[0-9a-f](?=[0-9a-f]{31}-us[0-9])",
         r"[0-9a-f]{31}-us[0-9]{1,2}(?![0-9])"),
    Rule("mailgun-key", r"[0-9a-f](?=[0-9a-f]{31}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9A-Za-z-]))",
         r"[0-9a-f-]{49}"),
    Rule("mapbox-token", r"[st]k\.eyJ", r"[A-Za-z0-9_-]{20,400}\.[A-Za-z0-9_-]{20,40}"),
    Rule("nuget-key", r"oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    Rule("octopus-key", r"API-", r"[A-Z0-9]{25,34}(?![A-Za-z0-9_-])"),
    Rule("openshift-token", r"sha256~", r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    Rule("private-key", r"LS0tLS1CRUdJTi",
         r"(?=[A-Za-z0-9+/]{0,36}(?:UFJJVkFURSBLRV|QUklWQVRFIEtFW|BSSVZBVEUgS0VZ))"
         r"[A-Za-z0-9+/]{40,32768}(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/]{60,100}){0,400}"
         r"(?:(?:\s|\\[nr]){1,8}(?:[A-Za-z0-9+/]{16,99}|[A-Za-z0-9+/]{1,15}(?==)))?={0,2}"),
    Rule("pagerduty-key", r"u\+", r"(?=[A-Za-z_-]{0,16}[0-9])[A-Za-z0-9_-]{18}(?![A-Za-z0-9_-])"),
    Rule("azure-devops-token", r"[A-Za-z0-9](?=[A-Za-z0-9]{75}AZDO)", r"[A-Za-z0-9]{83}"),
    Rule("azure-key", r"[A-Za-z0-9](?=[A-Za-z0-9]{51}JQQJ99)",
         r"[A-Za-z0-9]{57}[A-Za-z0-9]{24,28}"),
    Rule("maxmind-key", r"[A-Za-z0-9](?=[A-Za-z0-9]{5}_[A-Za-z0-9]{29}_mmk)", r"[A-Za-z0-9_]{39}"),
    Rule("password-hash", r"[0-9A-Fa-f](?=[0-9A-Fa-f]{31}:[0-9A-Fa-f]{32}:::)",
         r"[0-9A-Fa-f:]{64}"),
    Rule("twilio-token", r"(?<=AC[0-9a-f]{32}:)[0-9a-f]", r"[0-9a-f]{31}(?![0-9a-f])"),
    Rule("paseto", r"v[1-4]\.(?:local|public)\.", r"[A-Za-z0-9_-]{40,8192}"),
    Rule("ssh-key", r"b3BlbnNzaC1rZXktdjEA", r"[A-Za-z0-9+/\s]{60,16000}={0,2}"),
    Rule("twitter-token", r"AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{60,120}(?![A-Za-z0-9%+/=])"),
    Rule("vault-token", r"hvr\.", r"[A-Za-z0-9_-]{24,400}"),
    Rule("yandex-token", r"t1\.", r"[A-Za-z0-9_-]{10,200}={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    Rule("yandex-token", r"y[0-3]_", r"[A-Za-z0-9_-]{50,70}"),
)  # fmt: skip

# The services whose tokens are their beginning and a long random run, and these beginnings.
PREFIXES = {
    "adafruit-key": "aio_",
    "adobe-secret": "p8e-",
    "airbyte-token": "abt_",
    "aikido-token": "AIK_",
    "atlassian-token": "ATBB ATCTT3 ATSTT3 ATOA",
    "axiom-token": "xaat- xait- xapt-",
    "bitbucket-token": "BBDC-",
    "braze-key": "braze_",
    "buildkite-token": "bkua_ bkct_ bkaj_ bkpt_ bkt_",
    "cerebras-key": "csk-",
    "circleci-token": "CCIPAT_ CCIPRJ_",
    "clojars-token": "CLOJARS_",
    "cloudflare-token": "cfut_ cfat_ cfk_ v1.0-",
    "coinbase-key": "cb_",
    "composio-key": "ak_",
    "contentful-token": "CFPAT-",
    "daytona-key": "dtn_",
    "deepsource-token": "dsp_",
    "deno-token": "ddp_ ddw_ ddo_",
    "duffel-token": "duffel_live_ duffel_test_",
    "e2b-key": "e2b_",
    "easypost-key": "EZAK EZTK",
    "elevenlabs-key": "xi_",
    "facebook-token": "EAAC EAAB EAAG",
    "figma-token": "figd_ figo_ figor_ figp_ figu_ figdr_ figoh_ figuh_",
    "firecrawl-key": "fc-",
    "fireworks-key": "fw_",
    "flutterwave-key": "FLWSECK- FLWSECK_TEST-",
    "fly-token": "fo1_",
    "frameio-token": "fio-u-",
    "gitlab-token": "GR1348941",
    "google-token": "AQ.Ab8R",
    "grafana-key": "eyJrIjoi",
    "heroku-key": "HRKU-",
    "honeycomb-key": "hcaik_ hcxik_ hcbik_ hcamk_ hcxlk_",
    "huggingface-token": "api_org_",
    "hubspot-token": "pat-na1- pat-eu1- pat-na2- pat-ap1-",
    "infracost-key": "ico-",
    "intercom-token": "dG9rO",
    "jina-key": "jina_",
    "langsmith-key": "lsv2_pt_ lsv2_sk_ ls__",
    "linear-key": "lin_oauth_ lin_wh_",
    "mailersend-key": "mlsn.",
    "matrix-token": "syt_ mct_ mcr_",
    "mercadopago-token": "APP_USR-",
    "mongodb-key": "mdb_sa_sk_",
    "neon-key": "napi_",
    "netlify-token": "nfp_ nfc_ nfo_ nfu_ nfb_",
    "nvidia-key": "nvapi-",
    "ory-token": "ory_pat_ ory_at_ ory_rt_ ory_apikey_",
    "pinecone-key": "pcsk_",
    "plaid-token": "access-sandbox- access-development- access-production-",
    "posthog-key": "phx_ phs_ phr_ pha_ phc_",
    "prefect-key": "pnu_ pnb_",
    "readme-key": "rdme_",
    "render-key": "rnd_",
    "resend-key": "re_",
    "rubygems-key": "rubygems_",
    "runpod-key": "rpa_",
    "scalingo-token": "tk-us-",
    "sentry-token": "sntrys_ sntryu_ sntryi_",
    "shippo-token": "shippo_live_ shippo_test_",
    "shopify-token": "shpua_ shptka_ prtapi_ atkn_",
    "snyk-token": "snyk_uat. snyk_sat.",
    "sonarqube-token": "squ_ sqp_ sqa_",
    "sourcegraph-token": "sgp_ sgd_ slk_ sgs_",
    "square-token": "EAAA sq0idp- sq0csp-",
    "supabase-key": "sbp_ sb_secret_",
    "tailscale-key": "tskey-",
    "tavily-key": "tvly-",
    "telnyx-key": "KEY01",
    "typeform-token": "tfp_",
    "ubidots-token": "BBFF- BBUS-",
    "vercel-token": "vcp_ vci_ vca_ vcr_ vck_",
    "voyage-key": "pa-",
    "wakatime-key": "waka_ waka_tok_",
    "webhook-secret": "whsec_",
    "workos-key": "wos_",
    "yandex-key": "AQVN AQW",
}
# In an unknown beginning, one of these parts says that a key follows: acme_live_…, key-….
PREFIX_WORDS = (
    "sk rk pat sat uat api key apikey tok token secret sec sdk live prod production test sandbox "
    "access auth cred priv private pwd"
).split()

# Tokens without such a run near their beginning. begins: a literal that is searched for first.
ODD_TOKENS = (
    Rule("slack-webhook", "hooks.slack.com/services/",
         r"(?<=hooks\.slack\.com/services/)T[A-Z0-9]{6,14}/B[A-Z0-9]{6,14}/[A-Za-z0-9]{16,32}"),
    Rule("azure-secret", "Q~",
         r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    Rule("terraform-token", ".atlasv1.",
         r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    Rule("password-hash", "$", r"\$(?<![A-Za-z0-9$]\$)(?:[1567y]|gy|2[abxy]?|apr1|sha1|md5|P|H"
         r"|scrypt|argon2(?:i|d|id)|pbkdf2[a-z0-9-]{0,16})(?:\$[^\s:$\"'`\\<>]{1,64}){0,3}"
         r"\$[A-Za-z0-9./+]{22,128}={0,2}"),
    Rule("password-hash", "$", r"pbkdf2_sha[0-9]{1,3}\$[0-9]{1,9}\$[^\s$]{1,64}"
         r"\$[A-Za-z0-9./+]{20,128}={0,2}"),
    Rule("password-hash", "$", r"scrypt:[0-9:]{1,32}\$[^\s$]{1,64}\$[a-f0-9]{40,256}"),
    Rule("password-hash", "$", r"pbkdf2:[a-z0-9:]{1,32}\$[^\s$]{1,64}\$[a-f0-9]{40,256}"),
    Rule("password-hash", "SHA}", r"\{S?SHA\}[A-Za-z0-9+/]{26,256}={0,2}"),
)  # fmt: skip

PII = (
    Rule("email", "", r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"),
    Rule("iban", "", r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ ]?[A-Z0-9]{4}){2,7}"
         r"(?:[ ]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"),
    Rule("credit-card", "", r"(?<![\w.-])[3-6][0-9]{3}(?:[ -]?[0-9]{2,6}){2,4}(?![\w-]|\.[0-9])"),
    Rule("phone", "", r"(?<![\w+.])\+[1-9][0-9]{0,2}(?:[ ./()-]{0,2}[0-9]){6,13}(?!\w)"),
    Rule("phone", "", r"(?<![\w.+-])(?:\([0-9]{2,5}\)[ -]?|[0-9]{3}[-.][0-9]{3}[-.])[0-9]{3,4}"
         r"(?:[ -]?[0-9]{2,4}){0,2}(?![\w-]|\.[0-9])"),
)  # fmt: skip

# The words that end the name of a secret, and the stems used to search for them.
WORDS_FOR_PASSWORD = "pass(?:word|wd|wort|phrase|code|e)?|pwd?"  # noqa: S105
WORDS_FOR_SECRET = "secret|token|credentials?|auth(?:orization)?|signature"  # noqa: S105
WORDS_FOR_KEY = "key(?:_?base)?"
# What may follow the word in a name.
SUFFIX = (
    "(?:[_-]?(?:string|value|text|plain|prod|production|staging|dev|live|main|default|b64|base64"
    "|hex|bytes))?"
)
STEMS = ("pass", "pw", "secret", "auth", "token", "credential", "signature", "key")

# "key" names a secret after one of KEY_KINDS, and a very random one after any other kind but
# NOT_KEY_KINDS; "signature" does only after one of SIGNATURE_KINDS, and no word does after one of
# NOT_SECRET_KINDS.
KEY_KINDS = tuple(
    "api access secret private auth encryption signing account master client shared service "
    "subscription session deploy admin security hmac license licence webhook wallet".split()
)
NOT_KEY_KINDS = tuple(
    "public pub primary foreign cache partition sort dedupe idempotency object trace route lookup "
    "hash index unique query map dict group row column id entry file image node cell lock "
    "project measurement publishable site registry translation message routing resume host".split()
)
NOT_SECRET_KINDS = frozenset(
    "page next prev previous continuation cursor sync pad eos bos unk sep cls mask special stop "
    "start end first last current new old bad per max min num total input output cached prompt "
    "completion reasoning public method function type func".split()
)
NOT_SECRET_ENDS = ("page", "next", "continuation", "pagination", "sync", "publickey")
SIGNATURE_KINDS = ("amz", "goog")

# Words on the line before a random value that announce a secret, and those after them that name
# something else.
ANNOUNCED = lazy_regex(
    rf"(?:(?<![a-z])(?!(?:{'|'.join(NOT_KEY_KINDS)})[ _-])[a-z]{{2,20}}[ _-]key(?!_)"
    r"|apikey|token|secret|credential|passphrase|password|(?<![a-z])pat)(?![a-z])",
    re.IGNORECASE,
)
NOT_ANNOUNCED = lazy_regex(
    r"(?<![a-z])(?:commit|sha|md5|hash|digest|checksum|id|uuid|guid|version|revision|rev|url|uri"
    r"|https?|path|file|public|page|cursor|fingerprint|input|output|count|limit|type|see|test|def"
    r"|class|import|from|in)(?![a-z])|(?<! )\(|[{}\[\]<;?&#]|(?<!-)>|://",
    re.IGNORECASE,
)
# The end of a URL before the value of a parameter whose random values are secrets.
QUERY = lazy_regex(
    r"[?&;](?:amp;)?(?:[a-z_-]{0,24}[_-]?(?:key|sig|signature|token|secret|credential)|code|app_?id"
    r"|auth|ticket|sas|jwt|otp|license|hmac|access)=\Z"
    r"|(?:JSESSIONID|PHPSESSID|ASP\.NET_SessionId|connect\.sid)=\Z",
    re.IGNORECASE,
)
# Cookies that hold a session, even if their values are short.
COOKIE_NAMES = lazy_regex(r"(?:^|[._-])sess|sessi?on|(?:^|[._-])sid$|auth|token|jwt|login", re.I)

# Command lines and lines of files with a password behind them: a word that the text must contain,
# and the pattern of what comes before the password. FLAGGED: also needs a flag. SPELLED: also
# needs the letters "pass".
FLAG = lazy_regex(r" -(?:[pPaUwukS]|As|-user|-proxy-user|[a-zA-Z]{1,8}[ub][ \"'])")
FLAGGED = (
    ("mysql", r"mysql[a-z]{0,8}\b[^\n|;&]{0,200}?\s-p(?=\S)"),
    ("mariadb", r"mariadb[a-z-]{0,8}\b[^\n|;&]{0,200}?\s-p(?=\S)"),
    ("sshpass", r"sshpass\s{1,4}(?:-v\s{1,4})?-p\s{0,4}"),
    ("login", r"login\b[^\n|;&]{0,200}?\s-p[\s=]{1,4}"),
    ("docker login", r"docker login\b[^\n|;&]{0,200}?\s-p(?=[^\s=])"),
    ("snowsql", r"snowsql\b[^\n|;&]{0,200}?\s-p\s{0,4}"),
    ("mongo", r"mongo[a-z]{0,8}\b[^\n|;&]{0,200}?\s-p\s{0,4}"),
    ("cqlsh", r"cqlsh\b[^\n|;&]{0,200}?\s-p\s{0,4}"),
    ("7z", r"7za?\b[^\n|;&]{0,200}?\s-p"),
    ("redis-cli", r"redis-cli\b[^\n|;&]{0,200}?\s-a\s{1,4}"),
    ("http", r"http(?<![\w/.-]http)s?\b[^\n|;&]{0,100}?\s-a[\s=]{1,4}[\w.@-]{1,64}:"),
    ("smbclient", r"smbclient\b[^\n|;&]{0,200}?\s-U\s{0,4}[\"']?[\w\\.-]{1,64}%"),
    ("ldap", r"ldap[a-z]{3,8}\b[^\n|;&]{0,200}?\s-w\s{0,4}"),
    ("zip", r"zip\b[^\n|;&]{0,200}?\s-P\s{0,4}"),
    ("sqlcmd", r"sqlcmd\b[^\n|;&]{0,200}?\s-P\s{0,4}"),
    ("bcp", r"bcp\b[^\n|;&]{0,200}?\s-P\s{0,4}"),
    ("mosquitto", r"mosquitto_[a-z]{3}\b[^\n|;&]{0,200}?\s-P\s{0,4}"),
    ("ipmitool", r"ipmitool\b[^\n|;&]{0,200}?\s-P\s{0,4}"),
    (
        "curl",
        r"curl\b[^\n]{0,400}?\s(?:-[a-zA-Z]{0,8}u|--(?:proxy-)?user)[\s=]{0,4}[\"']?"
        r"[\w.@-]{0,64}:",
    ),
    ("sudo -S", r"echo\s{1,4}(?:-n\s{1,4})?(?=[^|\n]{1,256}\|\s{0,4}sudo -S)"),
    ("openssl enc", r"openssl enc\b[^\n|;&]{0,200}?\s-k\s{1,4}"),
    ("SecureString", r"ConvertTo-SecureString\s{1,4}(?:-String\s{1,4})?(?=[\"'])"),
    ("lftp", r"lftp\b[^\n|;&]{0,100}?\s-u\s{0,4}[\w.@-]{1,64},"),
)
SPELLED = (
    ("pass:", r"-pass(?:in|out)?\s{1,4}pass:"),
    ("storepass", r"-(?:src|dest|new)?storepass\s{1,4}"),
    ("nmcli", r"nmcli\b[^\n]{0,200}?\spassword\s{1,4}"),
    ("keypass", r"-(?:src|dest|new)?keypass\s{1,4}"),
    (
        "htpasswd",
        r"htpasswd\b[^\n|;&]{0,40}?\s-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}\s{1,4}"
        r"[^\s|;&]{1,128}\s{1,4}[^\s|;&]{1,64}\s{1,4}",
    ),
    ("password-stdin", r"echo\s{1,4}(?:-n\s{1,4})?(?=[^|\n]{1,256}\|[^\n]{1,160}--password-stdin)"),
    (
        "chpasswd",
        r"echo\s{1,4}(?:-[ne]\s{1,4})?[\"']?[\w.-]{1,64}:"
        r"(?=[^|\n]{1,256}\|[^\n]{0,40}chpasswd)",
    ),
    (
        "machine",
        r"machine\s{1,4}\S{1,253}\s{1,16}login\s{1,4}\S{1,128}\s{1,16}"
        r"(?:account\s{1,4}\S{1,64}\s{1,16})?password\s{1,4}",
    ),
    (
        "default",
        r"default\s{1,16}login\s{1,4}(?!anonymous)\S{1,128}\s{1,16}"
        r"(?:account\s{1,4}\S{1,64}\s{1,16})?password\s{1,4}",
    ),
)
COMMANDS = (
    ("/user:", r"net\s{1,4}use\b[^\n]{0,100}?/user:\S{1,64}\s{1,4}"),
    ("BasicAuth(", r"BasicAuth\(\s{0,8}[\"'][^\"'\n]{1,64}[\"'],\s{0,8}(?=[\"'])"),
    ("auth=(", r"auth=\(\s{0,8}[\"'][^\"'\n]{1,64}[\"'],\s{0,8}(?=[\"'])"),
    ("IDENTIFIED", r"IDENTIFIED\s{1,4}(?:WITH\s{1,4}[\w\"']{1,40}\s{1,4})?BY\s{1,4}"
                   r"(?:PASSWORD\s{1,4})?(?=')"),
    ("identified by", r"identified by\s{1,4}(?:password\s{1,4})?(?=')"),
    ("rabbitmqctl", r"rabbitmqctl\s{1,4}(?:add_user|change_password)\s{1,4}\S{1,64}\s{1,4}"),
    (":5432:", r"(?m:^)[\w.*-]{1,253}:5432:[\w.*-]{1,63}:[\w.*@-]{1,63}:"),
    (":*:*:", r"(?m:^)[\w.*-]{1,253}:(?:\*|[0-9]{2,5}):[\w.*-]{1,63}:[\w.*@-]{1,63}:"),
    ("response=", r"[Dd]igest [^\n]{0,400}?\bresponse=(?=\"[0-9a-f]{32,64}\")"),
    ("AWS4-HMAC-SHA256", r"AWS4-HMAC-SHA256\b[^\n]{0,400}?\bSignature="),
)  # fmt: skip

# Whole values, in lower case, that take the place of a secret in examples.
PLACEHOLDERS = frozenset(
    "password passwd passphrase pass pwd secret token key apikey api-key api_key credentials "
    "changeme change-me change_me replaceme replace-me todo tbd none null nil undefined true false "
    "string str text bytes number integer int boolean bool object array any optional required "
    "unknown default empty missing invalid valid hidden masked redacted removed omitted private "
    "public sensitive placeholder dummy sample example foobar foo bar baz value redacted "
    "username user admin login email name test testing bearer basic digest oauth oauth2 jwt "
    "apikeyauth environment env vault keychain keyring prompt stdin file manual auto input field "
    "enabled disabled success failed failure error forgot reset update updated changed "
    "your-password yourpassword mypassword my-password new-password current-password".split()
)
EXAMPLE = lazy_regex(
    r"example|placeholder|your[-_ ]|my[-_](?:api|secret|token|key|pass)|insert[-_ ]|replace[-_ ]"
    r"|dummy|redacted|xxxx|\*\*\*|\.\.\.|…|<[^>]|\{\w+\}|\$\{|\$\(|\{\{|%\(|%s(?![A-Za-z])",
    re.IGNORECASE,
)
# The names of algorithms, which are no passwords although they have digits.
ALGORITHM = lazy_regex(
    r"(?:scram-|sha|md|base|utf|aes|rsa|ed|b?crypt|scrypt|argon|pbkdf|oauth|https?|ipv|x|v|ntlm|hs|rs|es)"
    r"(?:sha)?[-_]?[0-9]",
    re.IGNORECASE,
)
# Sequences that a random generator is unlikely to produce, though a person may choose them.
SEQUENCE = lazy_regex(r"abcdef|abc123|0{6}|1234567", re.IGNORECASE)
