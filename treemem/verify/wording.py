"""Lists English words and phrases for denial, doubt, plans, questions, conditions and opposites.

Data only; assertion.py explains their use. Those of close wording are in lexicon.py.
Tested in tests/verify/test_assertion.py.
"""

from __future__ import annotations

import re

from treemem.patterns import lazy_regex
from treemem.text.counting import DAYS, MONTHS
from treemem.verify.terms import key_of

DENIES = lazy_regex(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n['’]t|dont"
    r"|hardly|barely|no longer|any ?more)\b",
    re.IGNORECASE,
)
# Says something else than its "not": "don't forget", "isn't it?", "can't wait".
NO_DENIAL = lazy_regex(
    r"\b(?:(?:do|did)(?:n['’]t| not) (?:forget|lose|miss|hesitate|worry|mind)|can(?:['’]t|not) wait"
    r"|not only|why (?:not|do(?:n['’]t| not) (?:we|you|i))|whether or not"
    r"|no (?:problem|worries|wonder|doubt|matter))\b|,\s*\w+n['’]t (?:it|he|she|they|we|you"
    r"|i)\s*\?",
    re.IGNORECASE,
)
# Words that deny by their meaning: they may replace a "not", and need one or a word of theirs.
DENIES_BY_WORD = lazy_regex(
    r"\b(?:miss(?:es|ed|ing)?|fail(?:s|ed|ing|ure)?|refus\w+|avoid\w*|reject\w*|declin\w+|cancel\w*"
    r"|lack\w*|unable|forb[ia]d\w*|except|ruled? out|rul(?:es|ing) out|doubt\w*|den(?:y|ies|ied)"
    r"|unless|only|unsure|unclear|uncertain|impossible|absent|prevent\w*|prohibit\w*|ban(?:s|ned)?"
    r"|stop(?:s|ped)?|exclud\w+|ignor\w+|drop(?:s|ped)?|against|nobody|skip\w*|bare|out of"
    r"|un(?:known|supported|used|expected|available|likely|changed|solved|resolved|tested|done)"
    r"|disagree\w*|instead of|rather than|dislike\w*|hates?d?|too \w+ to|far from|yet to"
    r"|still (?:has|have|needs?) to"
    r"|postpon\w+|leave[sd]? (?:out|alone)|left (?:out|alone|as)|wait(?:s|ed)?|incorrect|wrong"
    r"|stay(?:s|ed)? (?:as|the same)|unchanged|independent\w*|free of|zero)\b",
    re.IGNORECASE,
)
# Such words that turn a sentence around by themselves, so that a note needs them as well.
TURNS = lazy_regex(
    r"\b(?:miss(?:ed)?|fail(?:s|ed)?|refus(?:e|es|ed)|reject(?:s|ed)?|declin(?:es|ed)"
    r"|cancel(?:s|led|ed)?|lacks?|unable|forb(?:id\w*|ade)|banned|ruled? out|unlikely|prohibit\w*"
    r"|impossible|den(?:ies|ied))\b",
    re.IGNORECASE,
)
# Sets one thing against another, which a note may tell with a "not".
SETS_AGAINST = lazy_regex(r"\b(?:but|still|yet|too|although|though)\b", re.IGNORECASE)
# Says that something is not certain or not yet so.
OPEN = lazy_regex(
    r"\b(?:might|nearly|almost|(?-i:may) (?:be|have|well|also|still|need|take|come|get|help|even)"
    r"|maybe|perhaps"
    r"|probably|possibly|likely|could|would|should|hop(?:e|es|ed|ing)|plan(?:s|ned|ning)?"
    r"|intend(?:s|ed)?|consider(?:s|ed|ing)?|think(?:s|ing)? (?:of|about)"
    r"|thought (?:of|about)|want(?:s|ed)?|wish(?:es|ed)?|suggest(?:s|ed|ion)?|propos(?:e|es|ed|al)"
    r"|guess(?:es|ed)?|suspect(?:s|ed)?|hypothes[ie]s|theory|let['’]?s|look(?:s|ing)? (?:into|to"
    r"|for|forward)|how about|what if|dream(?:s|t|ed|ing)?|try(?:ing)? to|not sure|unsure|seems?"
    r"|wonder"
    r"|supposed|aim(?:s|ed|ing)?|ready to|keen on|offer(?:s|ed)? to|wanna|would like"
    r"|['’]d (?:like|love)|someday|one day|don['’]?t know|apparently|presumably|i think|assum\w+"
    r"|interested in|hypothetically|potentially|expect(?:s|ed)?|target\w*|idea|unclear)\b",
    re.IGNORECASE,
)
# Says that something is still to come or to be done.
AHEAD = lazy_regex(
    r"\b(?:will|won['’]t|shall|\w+['’]ll|going to|gonna|about to|tomorrow|next (?:week|month|year"
    r"|weekend|spring|summer|autumn|fall|winter|time|"
    + "|".join(DAYS)
    + r")|must|need(?:s|ed)? to|ha(?:s|ve) to|has yet to|to be done|todo|soon"
    r"|please|can you|could you|later|by (?:" + "|".join([*DAYS, *MONTHS]) + r")"
    r"|upcoming|pending|remains? to|deadline|goal|promis\w+|ought|scheduled?)\b",
    re.IGNORECASE,
)
# What in a note may replace these.
NOTED_OPEN = lazy_regex(
    OPEN.pattern
    + r"|\b(?:can|whether|asks?|asked|doubt\w*|recommend\w*|advis\w+|hopeful\w*|uncertain"
    r"|optimistic|believ\w+|thinks?|feels?|argu\w+|option(?:al)?|are to|is to|was to|were to|to be"
    r"|future|warn\w*|claims?|claimed|expected|request\w*|question\w*|says?|said|finds?|open)\b",
    re.IGNORECASE,
)  # fmt: skip
CONDITION = lazy_regex(
    r"(?<!even )(?<!see )(?<!know )(?<!as )(?<!ask )(?<!wonder )\b(?:if|unless|in case|as long as"
    r"|provided|only when|as soon as)\b(?! (?:you (?:want|like|wish|ask)|i (?:may|remember)))",
    re.IGNORECASE,
)
NOTED_CONDITION = lazy_regex(
    r"\b(?:if|unless|when\w*|once|in case|as long as|provided|until|whether|where\w*|would|could"
    r"|might|should|depend\w*|after|before|on condition|without|only|for|in|with|by \w+ing"
    r"|whoever|any|otherwise|must|can|ha(?:s|ve) to|needs? to|requires?)\b",
    re.IGNORECASE,
)
ASKS = lazy_regex(
    r"\b(?:ask\w*|wonder\w*|question\w*|whether|unclear|unsure|not sure|want\w*|request\w*|open"
    r"|doubt\w*|suggest\w*|propos\w*|know|invit\w*|if|interested|curious|check\w*|would like"
    r"|consider\w*|looking|plan\w*)\b",
    re.IGNORECASE,
)
# What went wrong, in words that a note may tell as a failure.
TROUBLE = lazy_regex(
    r"\b(?:brok\w+|errors?|abort\w*|crash\w*|problems?|bugs?|issues?|troubles?|los[te]\w*|down|gone"
    r"|invalid|exception|traceback|exit code)\b",
    re.IGNORECASE,
)
# "Nobody enters without a key" tells what is required.
REQUIRES = lazy_regex(
    r"\b(?:requir\w+|need\w*|must|only|ha(?:s|ve|d) to|mandatory)\b", re.IGNORECASE
)
# An order, as a sentence or a clause begins it.
ORDER = lazy_regex(
    r"^(?:(?:and|but|so|then|please|just|also|first|instead|now|ok|okay|no|yes)\b[,:]? *)*"
    r"(?:do(?:n['’]t)?|keep|make|add|use|run|put|take|check|remove|change|fix|leave|write|send|call"
    r"|tell|move|set|start|stop|try|bring|look|note|ensure|avoid|create|update|install|test|commit"
    r"|push|deploy|replace|rename|delete|open|close|turn|book|drop|merge|revert|skip|wait|remember"
    r"|ask|let|give|buy|clean|wrap|return|convert|read)\b(?! (?:is|are|was|were|has|fails?"
    r"|failed))",
    re.IGNORECASE,
)
HEDGE = lazy_regex(
    r"\b(?:i|we) (?:hope|think|guess|suppose|assume|suspect|believe)\b|\b(?:maybe|perhaps|probably"
    r"|possibly|apparently|most likely|not (?:quite |very |so |really )?sure|no promises)\b",
    re.IGNORECASE,
)
# "in Graz, not in Linz": what is denied in contrast, and the preposition before it.
CONTRAST = lazy_regex(
    r"\b(?:not|instead of|rather than)\s+(?:(in|on|at|by|to|with|for|from|of)\s+)?(?:(?:the"
    r"|an?)\s+)?"
    r"([\w-]+)",
    re.IGNORECASE,
)
# More words with opposites, and their keys; those of close wording are in lexicon.py.
OPPOSITES = tuple(
    (frozenset(f"{left} {' '.join(map(key_of, left.split()))}".split()),
     frozenset(f"{right} {' '.join(map(key_of, right.split()))}".split()))
    for left, right in (
        ("older elder oldest eldest", "younger youngest"), ("early earlier", "late later"),
        ("fast faster quick", "slow slower"), ("cheap cheaper", "expensive dearer"),
        ("north northern", "south southern"), ("east eastern", "west western"),
        ("easy easier", "difficult hard harder"), ("happy glad", "sad upset"),
        ("strong stronger", "weak weaker"), ("full", "empty"), ("internal", "external"),
        ("public", "private"), ("import", "export"), ("upload", "download"), ("lend", "borrow"),
        ("teach", "learn"), ("client", "server"), ("input", "output"), ("encode", "decode"),
        ("lock", "unlock"), ("install", "uninstall"), ("include", "exclude"), ("day", "night"),
        ("agree support welcome", "disagree oppose reject"), ("hire", "dismiss resign"),
        ("arrive", "leave depart"), ("manual", "automatic"), ("temporary", "permanent"),
        ("local", "remote"), ("husband", "wife"), ("brother", "sister"), ("mother", "father"),
        ("son", "daughter"), ("morning", "evening"), ("more", "fewer less"),
        ("higher rise raise", "lower fall cut"), ("upper", "lower"), ("inner", "outer"),
        ("visible", "hidden"), ("profit gain", "loss"), ("healthy", "ill"), ("pro", "contra"),
    )
)  # fmt: skip
# Words with opposites that a note in other words uses for something else.
VAGUE = lazy_regex(
    r"\b(?:to|into|from|with|without|on|off|before|after|earlier|later|up|down|first|last|left"
    r"|right"
    r"|old|older|new|newer|end\w*|start\w*|begins?|began|stop\w*|above|below|open\w*|close[ds]?)\b",
    re.IGNORECASE,
)
PAST_BE = frozenset("was were had did been became felt".split())
PAST = frozenset(
    "told said thought read heard caught cut put set sang sat shook shut stole struck swam tore "
    "woke wore rode rose rang drank fed felt fought froze hung hurt laid lay lent lit meant "
    "rebuilt "
    "sought shot slid sped spread stuck swept swore thrown undid upset withdrew wound done "
    "seen".split()
) - {"read", "cut", "put", "set", "shut", "hurt", "spread", "upset", "wound", "lay", "lit"}
# Words before a participle that is no past tense: "is closed", "the closed door".
BE = frozenset(
    "be is are am being get gets it's that's he's she's they're the a an his her their its my our "
    "this that these those each every no any some all of with".split()
)
NO_PAST = frozenset("need speed feed seed indeed hundred sacred red bed used based".split())
UNIVERSAL = lazy_regex(
    r"\b(?:all|every|everyone|everybody|everything|always|entire(?:ly)?|whole|each|full|fully"
    r"|completely|any|both|never|nobody|none|only|sole(?:ly)?|everywhere|we|us|our|no)\b",
    re.IGNORECASE,
)
# Not "not at all", nor "all six", which is a number.
STRICT_UNIVERSAL = lazy_regex(
    r"\b(?:(?<!at )all(?! (?:of )?(?:(?:the|these|those|his|her|their) )?(?:two|three|four|five|six"
    r"|seven|eight|nine|ten|twelve|\d))|every|everyone|everybody|always|entire(?:ly)?"
    r"|completely)\b",
    re.IGNORECASE,
)
DOUBTS = lazy_regex(r"\b(?:might|maybe|perhaps|probably|possibly)\b", re.IGNORECASE)
PLANS = lazy_regex(r"\b(?:plans?|hopes?|wants?) to\b", re.IGNORECASE)
CAN = lazy_regex(r"\bcan\b", re.IGNORECASE)
