"""Lists groups of English words that are compared as one.

Data only. Tested in tests/verify/test_terms.py.
"""

from __future__ import annotations

from treemem.verify.words import stem

_GROUPS = (
    "kid child children", "mum mom mother", "dad father", "grandma grandmother granny",
    "grandpa grandfather", "begin start commence", "buy purchase", "fix repair mend correct",
    "big large", "help assist aid", "job work", "picture photo image", "car vehicle",
    "house home", "movie film", "remove delete drop", "allow permit", "forbid ban prohibit",
    "show display", "error failure fault", "bug defect", "choose select pick", "finish complete",
    "need require", "change alter modify", "build construct", "use utilize", "quick fast rapid",
    "expensive costly", "cheap inexpensive affordable", "happy glad", "sad upset unhappy",
    "talk speak chat discuss", "meeting session", "phone call", "like enjoy",
    "love adore", "annual yearly", "store save", "get receive obtain", "give donate",
    "move relocate", "sick ill", "near close", "attempt try", "idea proposal", "propose suggest",
    "advise recommend", "doctor physician", "holiday vacation", "trip journey travel",
    "employ hire", "dismiss fire", "wrong incorrect", "right correct", "reply answer respond",
    "cause reason", "euro eur €", "dollar usd $", "litre liter", "kilometre kilometer km",
    "minute min", "hour hr", "second sec", "percent percentage", "information info",
    "document doc", "repository repo", "directory folder", "database db", "configuration config",
    "application app", "environment env", "parameter param", "function func", "telephone phone",
    "television tv telly", "exercise workout", "gift present",
    "depart leave", "arrive come", "earn make", "fund finance", "reduce lower cut",
    "raise increase", "argue claim", "agree accept approve", "reject refuse decline",
    "worry concern", "sure certain", "doubt unsure uncertain", "lunch meal", "client customer",
    "boss manager", "colleague coworker", "shop store", "teach instruct", "study learn",
    "join enroll", "sign register", "cancel abort", "delay postpone", "stop halt cease quit",
    "miss lack", "attend visit", "own possess", "handle process", "silent silently quiet",
    "discard drop throw", "version release", "automatic automatically", "deploy rollout roll",
)  # fmt: skip
# The stem that a group of synonyms is compared by, by the stems of its words. A word in two groups
# belongs to the first.
GROUPS: dict[str, str] = {}
for _group in _GROUPS:
    _stems = [stem(_word) or _word for _word in _group.split()]
    for _stemmed in _stems:
        GROUPS.setdefault(_stemmed, GROUPS.get(_stems[0], _stems[0]))
