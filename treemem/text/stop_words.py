"""Lists English words that carry little meaning by themselves, one list for each use.

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
