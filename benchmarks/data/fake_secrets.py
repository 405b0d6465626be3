"""Generates texts with one fake secret each: the documented shape of a secret, random contents, and
the surroundings in which it appears in logs.

A shape is written as a template: {A36} is 36 letters and digits, and so on, see _ALPHABETS; what
is before a "|" is not secret. No template is a valid secret, so that no scanner takes this file
for a leak.
"""

from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Fake(NamedTuple):
    """A text with a fake secret. shape: the kind of secret. secret: its exact characters in the
    text."""

    shape: str
    text: str
    secret: str


_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "T": string.ascii_uppercase + "234567",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "W": string.ascii_letters + string.digits + "_-",
    "B": string.ascii_letters + string.digits + "+/",
    "C": string.ascii_letters + string.digits + "./",
}
_SLOT = re.compile(r"\{([A-Za-z])(\d+)\}")
_WORDS = "marble kestrel harbor tundra copper willow falcon saffron pepper lantern".split()
_MARKS = "!#%&*+-=?@_"

# Tokens with a beginning of their own, by service.
TOKENS = {
    "adafruit": "aio_{L28}",
    "adobe": "p8e-{L32}",
    "airtable": "pat{A14}.{h64}",
    "anthropic": "sk-ant-api03-{W93}AA",
    "artifactory-key": "AKCp{A69}",
    "artifactory-reference": "cmVmdGtuOjAx{A52}",
    "asana": "1/{d16}:{h32}",
    "atlassian": "ATATT3xFfGF0{W170}={H8}",
    "aws": "AKIA{T16}",
    "azure-devops": "{A76}AZDO{A4}",
    "axiom": "xaat-{h8}-{h4}-{h4}-{h4}-{h12}",
    "bitbucket": "ATBB{A32}",
    "brevo": "xkeysib-{h64}-{A16}",
    "buildkite": "bkua_{h40}",
    "circleci": "CCIPAT_{A22}_{h40}",
    "clojars": "CLOJARS_{h60}",
    "cloudflare-user": "cfut_{A40}{h8}",
    "cloudflare-origin": "v1.0-{h24}-{h146}",
    "contentful": "CFPAT-{W43}",
    "crates": "cio{A32}",
    "databricks": "dapi{h32}",
    "digitalocean": "dop_v1_{h64}",
    "discord-bot": "MT{A22}.{W6}.{W38}",
    "docker": "dckr_pat_{W27}",
    "doppler": "dp.st.prd_api.{A43}",
    "dropbox": "sl.u.{W135}",
    "duffel": "duffel_live_{W43}",
    "dynatrace": "dt0c01.{U24}.{U64}",
    "easypost": "EZAK{h32}{A22}",
    "elevenlabs": "sk_{h48}",
    "figma": "figd_{W40}",
    "firecrawl": "fc-{h32}",
    "flutterwave": "FLWSECK-{h32}-X",
    "frameio": "fio-u-{W64}",
    "github": "ghp_{A36}",
    "gitlab": "glpat-{W20}",
    "gitlab-runner": "GR1348941{W20}",
    "google-refresh": "1//0{d1}{W60}",
    "google-oauth": "GOCSPX-{W28}",
    "grafana": "glsa_{A32}_{h8}",
    "groq": "gsk_{A52}",
    "harness": "pat.{W22}.{h24}.{A20}",
    "heroku": "HRKU-AA{W58}",
    "honeycomb": "hcaik_01{L56}",
    "hubspot": "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}",
    "huggingface": "hf_{A34}",
    "infisical": "st.{h8}-{h4}-{h4}.{h32}.{h32}",
    "infracost": "ico-{A32}",
    "jwt": "eyJhbGciOi{W26}.eyJ{W60}.{W43}",
    "langfuse": "sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}",
    "langsmith": "lsv2_pt_{h32}_{h10}",
    "linear": "lin_api_{A40}",
    "mailgun": "key-{h32}",
    "mapbox": "sk.eyJ1Ijoi{A60}.{W22}",
    "maxmind": "{A6}_{A29}_mmk",
    "neon": "napi_{L64}",
    "netlify": "nfp_{A36}",
    "newrelic": "NRAK-{U27}",
    "notion": "ntn_{d11}{A35}",
    "npm": "npm_{A36}",
    "nuget": "oy2{L43}",
    "octopus": "API-{U26}",
    "openai": "sk-proj-{W64}T3BlbkFJ{W64}",
    "openrouter": "sk-or-v1-{h64}",
    "openshift": "sha256~{W43}",
    "pinecone": "pcsk_{A6}_{A60}",
    "plaid": "access-production-{h8}-{h4}-{h4}-{h4}-{h12}",
    "planetscale": "pscale_tkn_{W43}",
    "posthog": "phx_{A43}",
    "postman": "PMAK-{h24}-{h34}",
    "prefect": "pnu_{A36}",
    "pulumi": "pul-{h40}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{W120}",
    "razorpay": "rzp_live_{A14}",
    "readme": "rdme_{L70}",
    "render": "rnd_{A32}",
    "replicate": "r8_{A37}",
    "resend": "re_{A8}_{A24}",
    "rubygems": "rubygems_{h48}",
    "scalingo": "tk-us-{W48}",
    "sendgrid": "SG.{W22}.{W43}",
    "sentry": "sntryu_{h64}",
    "shippo": "shippo_live_{h40}",
    "shopify": "shpat_{h32}",
    "slack": "xoxb-{d12}-{d12}-{A24}",
    "sonarqube": "squ_{h40}",
    "sourcegraph": "sgp_{h16}_{h40}",
    "square": "EAAA{W60}",
    "stripe": "sk_live_{A24}",
    "supabase": "sbp_{h40}",
    "supabase-secret": "sb_secret_{W31}",
    "tailscale": "tskey-auth-{A17}-{A32}",
    "tavily": "tvly-dev-{A32}",
    "telegram": "{d10}:|AA{W33}",
    "terraform": "{A14}.atlasv1.{W67}",
    "twilio": "SK{h32}",
    "typeform": "tfp_{W44}_{A14}",
    "vault": "hvs.{W95}",
    "vercel": "vcp_{A56}",
    "voyage": "pa-{W43}",
    "wakatime": "waka_{h8}-{h4}-{h4}-{h4}-{h12}",
    "workos": "sk_test_{A40}",
    "xai": "xai-{A80}",
    "yandex": "AQVN{W36}",
    "yandex-iam": "t1.{W40}.{W86}",
}

# How a token appears. Lines of logs, documents, settings, requests and source code.
PLACES = (
    "use {} for the deployment",
    "Here it is: {}. Please keep it safe.",
    "{}",
    "I pasted `{}` into the form.",
    'client = Client("{}")',
    "token: {}",
    "export SERVICE_TOKEN={}",
    "ENV SERVICE_TOKEN {}",
    '{{"text": "run it with \\"{}\\" now"}}',
    "curl -H 'Authorization: Bearer {}' https://api.farm.test/v1",
    "https://api.farm.test/v1/cows?token={}&page=2",
    "--token={} --verbose",
    "+  apiKey: '{}',",
    "\x1b[32m{}\x1b[0m",
    "| service | {} | active |",
    "<value>{}</value>",
    "2026-01-05 09:00:12 INFO loaded {} (1 of 2)",
    "['{}', 'cow']",
)  # fmt: skip

# Values without a beginning of their own: the name of the variable, and the shape.
NAMED = {
    "algolia": ("ALGOLIA_ADMIN_KEY", "{h32}"),
    "aws-secret": ("AWS_SECRET_ACCESS_KEY", "{B40}"),
    "azure-storage": ("AZURE_STORAGE_KEY", "{B86}=="),
    "base64-secret": ("SESSION_SECRET", "{B22}=="),
    "cloudflare-global": ("CLOUDFLARE_API_KEY", "{h37}"),
    "codecov": ("CODECOV_TOKEN", "{h8}-{h4}-4{h3}-a{h3}-{h12}"),
    "cohere": ("CO_API_KEY", "{A40}"),
    "datadog": ("DD_API_KEY", "{h32}"),
    "django": ("SECRET_KEY", "{A20}-{A20}_{A8}"),
    "dotted": ("REFRESH_TOKEN", "{A12}.{A24}.{A18}"),
    "fastly": ("FASTLY_API_TOKEN", "{W32}"),
    "mailchimp": ("MAILCHIMP_API_KEY", "{h32}-us14"),
    "okta": ("OKTA_CLIENT_TOKEN", "00{W40}"),
    "pagerduty": ("PAGERDUTY_TOKEN", "u+{A18}"),
    "plaid-secret": ("PLAID_SECRET", "{h30}"),
    "slashed": ("WEBHOOK_SECRET", "{A10}/{A14}+{A15}="),
    "twilio-auth": ("TWILIO_AUTH_TOKEN", "{h32}"),
    "wandb": ("WANDB_API_KEY", "{h40}"),
    "encryption": ("ENCRYPTION_KEY", "{B43}="),
    "private-key-hex": ("WALLET_PRIVATE_KEY", "0x{h64}"),
    "vercel-old": ("VERCEL_TOKEN", "{A24}"),
    "upper": ("LICENSE_KEY", "{U5}-{U5}-{U5}-{U5}"),
}
# Written with {name}, {low} (in lower case), {camel} and {spaced} variants of the name.
NAMED_PLACES = (
    "{name}={}",
    'export {name}="{}"',
    "ENV {name} {}",
    "{name} {}",
    "{low}: {}",
    "{low} = {}",
    '{low} = "{}"',
    '{{"{camel}": "{}"}}',
    '"{{\\"{camel}\\": \\"{}\\", \\"n\\": 1}}"',
    "- name: {name}\n  value: {}\n",
    '{{"name": "{name}", "value": "{}"}}',
    'variable "{low}" {{\n  type    = string\n  default = "{}"\n}}',
    "The {spaced} is {} for now.",
    "{spaced}: `{}`",
    "| {spaced} | {} |",
    "<{camel}>{}</{camel}>",
    '<add key="{camel}" value="{}" />',
    "--{dashed} {} --yes",
    "https://x.farm.test/a?{low}={}&b=1",
    "X-{dashed}: {}",
    "docker run -e {name}={} farm/app",
    "setx {name} {}",
    "{low} => '{}',",
    "{name} := {}",
)  # fmt: skip

# Passwords of people. {} is the password; see _password.
PASSWORDS = {
    "pw": ("pw: {}", "PW={}", "pw = '{}'", "user: bob pw: {}"),
    "passwd": ("passwd: {}", "DB_PASSWD={}", "passphrase: {}"),
    "spoken": ("the password is {}", "My password: `{}`", "log in as bob with password {} please"),
    "yaml": ("  password: {}\n  port: 5432", "mysql_root_password: {}", "password: \"{}\""),
    "json": ('{{"user": "bob", "password": "{}"}}', '{{"pwd":"{}"}}', '{{\\"passwd\\":\\"{}\\"}}'),
    "ini": ("password={}\nport=1", "password = {}\n", "PGPASSWORD={} psql -h db"),
    "url": ("postgres://bob:{}@db:5432/farm", "redis://:{}@cache:6379", "amqp://bob:{}@mq//"),
    "mysql": ("mysql -u root -p{} farm", "mysqldump -ubob -p{} farm > x.sql",
              "mysqladmin -h db -uroot -p'{}' ping"),
    "sshpass": ("sshpass -p {} ssh bob@host", "sshpass -p '{}' scp a b:c", "sshpass -p{} ssh h"),
    "docker": ("docker login -u bob -p {} registry.farm.test", "docker login --password {} r.test",
               "echo {} | docker login -u bob --password-stdin"),
    "tools": ("redis-cli -h cache -a {} ping", "smbclient //h/s -U bob%{}",
              "ldapsearch -D cn=admin -w {} -b dc=farm", "openssl rsa -in a.pem -passin pass:{}",
              "keytool -list -keystore a.jks -storepass {}", "zip -P {} a.zip b",
              "htpasswd -b .htpasswd bob {}", "wget --user=bob --password={} https://x.test",
              "http -a bob:{} https://x.test", "sqlcmd -S db -U sa -P {} -Q 'x'"),
    "curl": ("curl -u bob:{} https://x.test", "curl --user 'bob:{}' https://x.test",
             "curl -fsSu bob:{} https://x.test"),
    "pgpass": ("db.farm.test:5432:farm:bob:{}", "*:*:*:bob:{}", "localhost:5432:*:postgres:{}"),
    "netrc": ("machine git.farm.test login bob password {}",
              "machine x.test\n  login bob\n  password {}\n",
              "default login bob password {}"),
    "table": ("| user | password |\n|---|---|\n| bob | {} |\n",
              "| Host | User | Password |\n| --- | :-- | --- |\n| db | bob | {} |\n",
              "+------+----------+\n| user | password |\n+------+----------+\n| bob  | {} |\n+---",
              "user     password\n----     --------\nbob      {}\n",
              "user,password,host\nbob,{},db1\n", "user\tpassword\nbob\t{}\n"),
    "terraform": ('resource "aws_db_instance" "x" {{\n  master_password = "{}"\n}}',
                  'variable "db_password" {{\n  default = "{}"\n}}'),
    "dockerfile": ("ENV DB_PASSWORD {}", "ENV A=1 DB_PASSWORD={} B=2", "ARG ADMIN_PASS={}"),
    "dsn": ("Server=db;User Id=sa;Password={};Encrypt=true", "user=bob password={} host=db",
            "Data Source=x;Uid=sa;Pwd={};"),
    "sql": ("CREATE USER bob IDENTIFIED BY '{}';", "ALTER ROLE bob WITH PASSWORD '{}';",
            "CREATE ROLE bob LOGIN PASSWORD '{}'"),
    "powershell": ("ConvertTo-SecureString '{}' -AsPlainText -Force", "$password = '{}'"),
    "chpasswd": ("echo 'bob:{}' | chpasswd", "echo \"root:{}\" | sudo chpasswd"),
    "compose": ("    environment:\n      - MYSQL_ROOT_PASSWORD={}\n",
                "      POSTGRES_PASSWORD: {}\n"),
    "xml": ("<password>{}</password>", '<property name="password" value="{}"/>',
            '<user name="bob" password="{}"/>'),
}  # fmt: skip

# Whole forms: a text with {} for the secret, and the shape of the secret.
FORMS = {
    "basic": (("Authorization: Basic {}", "-H 'authorization: basic {}'",
               '"Authorization": "Basic {}",', "Proxy-Authorization: Basic {}"), "basic"),
    "digest": (('Authorization: Digest username="bob", response="{}"',), "{h32}"),
    "okta": (("Authorization: SSWS {}",), "00{W40}"),
    "raw-header": (("Authorization: {}", "x-api-key: {}", "X-Auth-Token: {}", "apikey: {}"),
                   "{h40}"),
    "token-header": (("Authorization: Token {}", "Authorization: Token token={}",
                      "PRIVATE-TOKEN: {}", "Authorization: ApiKey {}"), "{h40}"),
    "cookie": (("Cookie: lang=en; sessionid={}; theme=dark", "Set-Cookie: sid={}; Path=/; HttpOnly",
                "curl -b 'session={}' https://x.test", "cookie: connect.sid=s%3A{}",
                "Cookie: JSESSIONID={}", "Cookie: laravel_session={}; x=1"), "{A32}"),
    "query": (("https://maps.farm.test/js?key={}&v=3", "GET /v1/x?appid={} HTTP/1.1",
               "https://x.test/cb?state=1&access_token={}", "https://f.test/api/run?code={}",
               "wss://x.test/s?apikey={}"), "{A36}"),
    "sas": (("https://a.blob.core.test/c?sv=2024-05-04&se=2026-01-05T00%3A00Z&sr=c&sp=r&sig={}",
             "SharedAccessSignature sr=x&sig={}&se=1"), "{A41}%2B{A8}%3D"),
    "aws-url": (("https://b.s3.test/k?X-Amz-Expires=60&X-Amz-Signature={}&x=1",), "{h64}"),
    "slack-hook": (("https://hooks.slack.com/services/{}",), "T{U10}/B{U10}/{A24}"),
    "discord-hook": (("https://discord.com/api/webhooks/{d18}/{}",), "{W68}"),
    "htpasswd": (("bob:{}", "admin:{}\nbob:x"), "$apr1${A8}${C22}"),
    "bcrypt": (("bob:{}", "password_hash: {}", "('bob', '{}')"), "$2b$12${C53}"),
    "shadow": (("bob:{}:19000:0:99999:7:::",), "$6${C16}${C86}"),
    "yescrypt": (("root:{}:19700::::::",), "$y$j9T${C22}${C43}"),
    "argon2": (("hash={}", "{}"), "$argon2id$v=19$m=65536,t=3,p=4${B22}${B43}"),
    "npmrc": (("//registry.npmjs.org/:_authToken={}", "_auth={}"), "{h36}"),
    "cloudinary": (("CLOUDINARY_URL=cloudinary://{d15}:{}@farm",), "{W27}"),
    "jwk": (('{{"kty":"EC","crv":"P-256","x":"{W43}","d":"{}"}}',
             '{{"kty": "RSA", "e": "AQAB", "d": "{}", "n": "{W86}"}}'), "{W43}"),
    "k8s-secret": (("kind: Secret\ndata:\n  api-password: {}\n",
                    "apiVersion: v1\nkind: Secret\ntype: Opaque\ndata:\n  farm: {}\n"), "{B22}=="),
    "docker-auth": (('{{"auths": {{"r.test": {{"auth": "{}"}}}}}}',), "{B46}=="),
    "wireguard": (("[Interface]\nPrivateKey = {}\nAddress = 10.0.0.1/24",), "{B43}="),
    "rails": (("config/master.key: {}", "secret_key_base: {}"), "{h32}"),
    "connection": (("Endpoint=sb://x.test/;SharedAccessKeyName=R;SharedAccessKey={}",
                    "EndpointsProtocol=https;AccountName=x;AccountKey={}"), "{B43}="),
    "aws-session": (("aws_session_token = {}", "x-amz-security-token: {}"),
                    "IQoJb3JpZ2luX2Vj{B200}=="),
    "otp": (("otpauth://totp/Farm:bob?secret={}&issuer=Farm", "TOTP secret: {}"), "{T32}"),
}  # fmt: skip


class _Maker:
    """Makes random contents for templates."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def fill(self, template: str) -> str:
        """The template with random characters for its slots; {} is left."""
        return _SLOT.sub(
            lambda slot: "".join(self.random.choices(_ALPHABETS[slot[1]], k=int(slot[2]))), template
        )

    def password(self) -> str:
        word, number = self.random.choice(_WORDS), self.random.randint(10, 9999)
        mark = self.random.choice("!#%*+-_")
        return self.random.choice(
            (
                f"{word.title()}{mark}{number}",
                f"{word}{number}",
                f"{word.title()}{self.random.choice(_WORDS).title()}{number}{mark}",
                self.fill("{A12}"),
                self.fill("{A6}") + mark + self.fill("{A5}"),
            )
        )

    def secret(self, template: str) -> str:
        if template == "basic":
            return base64.b64encode(f"bob:{self.password()}".encode()).decode()
        return self.fill(template)


def fakes(seed: int, cases_a_shape: int = 2) -> Iterator[Fake]:
    """Yields the cases of a seed, about 165 shapes of them."""
    maker = _Maker(seed)
    for shape, template in TOKENS.items():
        for place in maker.random.sample(PLACES, cases_a_shape):
            before, _, secret = maker.fill(template).rpartition("|")
            yield Fake(f"token {shape}", _put(place, secret, before=before), secret)
    for shape, (name, template) in NAMED.items():
        for place in maker.random.sample(NAMED_PLACES, cases_a_shape):
            secret = maker.fill(template)
            yield Fake(f"named {shape}", _put(place, secret, name), secret)
    for shape, places in PASSWORDS.items():
        for place in maker.random.sample(places, min(cases_a_shape, len(places))):
            secret = maker.password()
            yield Fake(f"password {shape}", _put(place, secret), secret)
    for shape, (places, template) in FORMS.items():
        for place in maker.random.sample(places, min(cases_a_shape, len(places))):
            secret = maker.secret(template)
            yield Fake(f"form {shape}", _put(maker.fill(place), secret), secret)
    for disguise in (
        _zero_width,
        _continued,
        _continued_in_json,
        _putty,
        _pem_in_base64,
        _bare_pem,
    ):
        for _ in range(cases_a_shape):
            yield disguise(maker)


def _put(place: str, secret: str, name: str = "", before: str = "") -> str:
    words = name.lower().split("_")
    return place.format(
        before + secret,
        name=name,
        low=name.lower(),
        camel=words[0] + "".join(word.title() for word in words[1:]),
        spaced=" ".join(words),
        dashed="-".join(words),
    )


# -- secrets that are interrupted or encoded -------------------------------------------


def _broken(maker: _Maker, shape: str, breaks: str) -> Fake:
    template = maker.random.choice(("ghp_{A36}", "npm_{A36}", "sk-ant-api03-{W93}AA", "{h40}"))
    secret = maker.fill(template)
    at = maker.random.randint(len(secret) // 3, 2 * len(secret) // 3)
    broken = secret[:at] + breaks + secret[at:]
    return Fake(f"broken {shape}", f'api_token="{broken}"\nnext line\n', broken)


def _zero_width(maker: _Maker) -> Fake:
    return _broken(maker, "zero-width", maker.random.choice("\u200b\u200c\u200d\u2060\ufeff\u00ad"))


def _continued(maker: _Maker) -> Fake:
    return _broken(maker, "continued", "\\\n")


def _continued_in_json(maker: _Maker) -> Fake:
    return _broken(maker, "continued-json", "\\\\\\n")


def _lines(maker: _Maker, count: int, width: int = 64) -> str:
    return "\n".join(maker.fill(f"{{B{width}}}") for _ in range(count))


def _putty(maker: _Maker) -> Fake:
    secret = _lines(maker, 4)
    return Fake(
        "broken putty",
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: bob\nPublic-Lines: 2\n"
        f"{_lines(maker, 2)}\nPrivate-Lines: 4\n{secret}\nPrivate-MAC: {maker.fill('{h64}')}\n",
        secret,
    )


def _pem(maker: _Maker) -> str:
    kind = maker.random.choice(("RSA PRIVATE", "PRIVATE", "EC PRIVATE", "OPENSSH PRIVATE"))
    return f"-----BEGIN {kind} KEY-----\n{_lines(maker, 5)}\n-----END {kind} KEY-----\n"


def _pem_in_base64(maker: _Maker) -> Fake:
    encoded = base64.b64encode(_pem(maker).encode()).decode()
    place: str = maker.random.choice(("tls.key: {}", "KUBE_KEY={}", "echo {} | base64 -d", '"{}"'))
    return Fake("broken pem-in-base64", place.format(encoded), encoded)


def _bare_pem(maker: _Maker) -> Fake:
    pem = _pem(maker)
    quote: Callable[[str], str] = maker.random.choice(
        (str, lambda text: text.replace("\n", "\\n"), lambda text: text.replace("\n", "\n    "))
    )
    pem = quote(pem)
    return Fake("broken pem", f"the key is\n{pem}", pem.strip())
