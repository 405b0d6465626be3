"""Lists the formats of well-known tokens and the words that name a secret.

Contains only data. The formats are those that the services publish and that secret scanners agree
on. Every change must increment VERSION, so that logs are read again under the new rules.

Tested in tests/privacy/test_redactor.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

VERSION = 1
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
)  # fmt: skip

# Tokens without such a run near their beginning. begins: a literal that is searched for first.
ODD_TOKENS = (
    Rule("slack-webhook", "hooks.slack.com/services/",
         r"(?<=hooks\.slack\.com/services/)T[A-Z0-9]{6,14}/B[A-Z0-9]{6,14}/[A-Za-z0-9]{16,32}"),
    Rule("azure-secret", "Q~",
         r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    Rule("terraform-token", ".atlasv1.",
         r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
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
WORDS_FOR_PASSWORD = "pass(?:word|wd|wort|phrase|code)?|pwd"  # noqa: S105
WORDS_FOR_SECRET = "secret|token|credentials?|auth(?:orization)?|signature"  # noqa: S105
WORDS_FOR_KEY = "key(?:_?base)?"
STEMS = ("pass", "pwd", "secret", "token", "credential", "auth", "signature", "key")

# "key" names a secret only after one of KEY_KINDS, "signature" only after one of SIGNATURE_KINDS,
# and no word does after one of NOT_SECRET_KINDS.
KEY_KINDS = tuple(
    "api access secret private auth encryption signing account master client shared service "
    "subscription session deploy admin security hmac".split()
)
NOT_SECRET_KINDS = frozenset(
    "page next prev previous continuation cursor sync pad eos bos unk sep cls mask special stop "
    "start end first last current new old bad per max min num total input output cached prompt "
    "completion reasoning public method function type func".split()
)
NOT_SECRET_ENDS = ("page", "next", "continuation", "pagination", "sync", "publickey")
SIGNATURE_KINDS = ("amz", "goog")

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
EXAMPLE = re.compile(
    r"example|placeholder|your[-_ ]|my[-_](?:api|secret|token|key|pass)|insert[-_ ]|replace[-_ ]"
    r"|dummy|redacted|xxxx|\*\*\*|\.\.\.|…|<[^>]|\$\{|\$\(|\{\{|%\(|%s",
    re.IGNORECASE,
)
# Sequences that a random generator is unlikely to produce, though a person may choose them.
SEQUENCE = re.compile(r"abcdef|abc123|0{6}|1234567", re.IGNORECASE)
