"""Lists the English words that say little by themselves, one list for each use.

Tested in tests/text/test_bm25.py.
"""

from __future__ import annotations

# Words of grammar. A search ignores them unless a query has no others.
FUNCTION_WORDS = frozenset(
    "a about an and any are as at be been but by can could did do does for from had has have "
    "how i if in into is it its me my no not of on or our should so than that the their them "
    "then there these they this to up was we were what when where which who why will with "
    "would you your".split()
)

# Those, further pronouns and contractions, and fillers of chats. The check of a statement does
# not look for them in the messages that it cites.
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

# Words that two statements often share although they are about different things. They do not
# help to decide whether one closes or replaces the other.
ROUTINE_WORDS = (
    "go going today yesterday now already finally morning evening week news good great time thing"
)
