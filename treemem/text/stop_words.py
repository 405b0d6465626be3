"""Lists words that carry little meaning by themselves, one list for each use.

Tested in tests/text/test_bm25.py.
"""

from __future__ import annotations

# Function words. A search ignores them unless a query has no others.
FUNCTION_WORDS = frozenset(
    "a about an and any are as at be been but by can could did do does for from had has have "
    "how i if in into is it its me my no not of on or our should so than that the their them "
    "then there these they this to up was we were what when where which who why will with "
    "would you your".split()
)

# Function words of other languages, by ISO 639 code. A search ignores those of the language of its
# query: "die" is a word of an English one.
FOREIGN_FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "de": (
            "aber als am an auch auf aus bei beim bin bis das dass dem den der des die doch du "
            "ein eine einem einen einer eines er es für hab habe haben hat hatte hatten ich ihr "
            "im in ist ja kann kein keine man mein mit nach nicht noch nur ob oder schon sein "
            "sich sie sind so über um und uns unser unter vom von vor wann war waren warum was "
            "weil wenn wer werden wie wir wird wo worden wurde wurden zu zum zur"
        ),
        "es": (
            "a al como con cómo cuál cuándo cuánto de del desde donde dónde el ella en entre era "
            "es esa ese eso esta este esto está están fue ha han hasta hay la las le les lo los "
            "me mi muy más no nos o para pero por porque qué que quién se ser si sin sobre son su "
            "sus también te tu un una unos y ya yo"
        ),
        "fr": (
            "a à ai au aux avec avez avons c ce ces cette comment d dans de des du elle en est et "
            "été être eu il ils j je l la le les leur lui m ma mais me mes mon n ne nos notre "
            "nous on ont ou où par pas plus pour pourquoi qu quand que quel quelle qui quoi s sa "
            "se ses son sont sur te tu un une vos votre vous y"
        ),
        "it": (
            "a abbiamo al alla anche c che chi ci come con cosa d da dal dalla dei del della "
            "delle di dove e è era gli ha hai hanno ho i il in io l la le lo ma mi nel nella noi "
            "non o per perché più quale quando quanto sei si sono su sul ti tra tu un una uno"
        ),
        "nl": (
            "aan al als bij dan dat de der die dit door een en er had heb hebben heeft het hij "
            "hoe ik in is je kan maar me met mijn naar niet nog of om onze ook op over te tot u "
            "uit van voor waar waarom wanneer waren was wat we werd wie wij worden zijn zo"
        ),
        "pt": (
            "a ao aos as com como da das de do dos e é ela ele em era está eu foi há isso já mais "
            "mas me meu minha na nas no nos nós não o onde os ou para pela pelo por porque qual "
            "quando quanto que quem se sem ser seu são sua também te tem um uma você"
        ),
    }.items()
}

# These, further pronouns and contractions, and chat fillers. The check of a statement does not
# require them in the messages it cites.
STOP_WORDS = FUNCTION_WORDS | frozenset(
    "after again all also am because before being doing down during each few further get got "
    "having he her here hers him his itself just let more most nor now off once only other ours "
    "out over own same she some such theirs those through too under until us very while whom "
    "yours user assistant one something anything everything someone anyone never without none "
    "nobody nothing neither whether cannot i'm i've i'll i'd we're we've we'll it's that's "
    "there's let's you're he's she's they're don't doesn't didn't isn't aren't wasn't weren't "
    "can't couldn't won't wouldn't shouldn't hasn't haven't hadn't ain't mustn't ok okay oh yes "
    "yeah well like really actually please thanks hi hey wow um uh hmm".split()
)

# Words that statements about different things often share. They do not count when deciding whether
# one statement closes or replaces another.
ROUTINE_WORDS = (
    "go going today yesterday now already finally morning evening week news good great time thing"
)
