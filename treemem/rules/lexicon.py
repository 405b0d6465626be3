"""Lists the words by which a rule for good is told from a wish for the task at hand.

Tested in tests/rules/test_wording.py.
"""

from __future__ import annotations

import re

from treemem.patterns import lazy_regex

_FLAGS = re.IGNORECASE | re.VERBOSE

# Verbs in the imperative with which people instruct an assistant. Other words at the head of a
# clause are more often its subject.
VERBS = frozenset(
    "abbreviate accept act add address adopt allow annotate answer append apply approve ask assume "
    "attach avoid back base be begin book branch bring build bump buy calculate call capitalize "
    "check choose cite close comment commit compile confirm consider consult convert cook copy "
    "correct count cover create default delete deliver deploy describe design disable discuss "
    "display do document double-check draft draw edit emit enable end enforce estimate exclude "
    "execute explain export expose fetch fill finish fix flag focus follow format generate get "
    "give go greet group handle hide highlight honor honour ignore import inc include indent "
    "inform insert install invent join justify keep label leave let limit link lint list load lock "
    "log look make mark measure mention merge mock move name note notify number offer omit open "
    "order pack paint pass pick pin place plan play point prefer prefix prepare present print "
    "proofread propose provide pull push put quote raise read rebase recommend refactor refer "
    "refuse release rely remember remind remove rename render repeat rephrase replace reply report "
    "reserve respect respond restrict return review rewrite round run save say schedule search "
    "select send separate serve set show sign skip sort speak spell split squash start state stay "
    "stick stop store structure suggest summarise summarize switch tag take talk tell test think "
    "throw title translate treat trim trust try turn type underline update upgrade use validate "
    "verify wait warn watch work wrap write".split()
)
# Words after "always" or "never" that are not a verb in the imperative.
NOT_VERBS = frozenset(
    "a about absent again all alone already an and another any anything are as at available away "
    "back bad been before beautiful been being better best bored boring busy but by certain cheap "
    "clear closed cold correct dangerous difficult done early easy else empty enough even ever "
    "exactly expensive far fast fine first for free from full fun funny glad good great had happy "
    "hard has have he heard her here his hot i if in is it its knew known last late later less "
    "like likely loved made mind more most my near necessary new nice no not nothing now of off ok "
    "okay old on once one open or our out over possible quick quite ready really right rude sad "
    "safe same saw seen she slow so some something soon sorry still such sure that the their them "
    "then there these they this those to together too true under unless up useful usually very "
    "was we welcome well went were what when where which while who why will with without won "
    "worked worse worst worth would wrong yet you your".split()
)
# Base forms that end in -s, unlike a verb of the third person.
ENDING_IN_S = frozenset(
    "access address alias assess bias bypass canvas compress cross discuss dismiss express focus "
    "guess harness miss pass press process suppress stress toss witness".split()
)
# What an assistant makes again and again, so that a rule about it is for good.
RECURRING = r"""(?:answers?|repl(?:y|ies)|responses?|messages?|commits?|commit\ messages?|comments?
    |docstrings?|pull\ requests?|prs?|e-?mails?|letters?|explanations?|summar(?:y|ies)|reports?
    |translations?|conversations?|sessions?|chats?|turns?|changes?|edits?|releases?|deploy\w*
    |prompts?|reviews?|branch(?:es)?)"""
# Says that something holds from now on, or each time.
LASTING = lazy_regex(
    rf"""\b(?:always|never(?!\ mind)|from\ (?:now|today|here|this\ (?:point|day))\ (?:on\w*
        |forwards?)
    |henceforth|hereafter|(?:going|moving)\ forwards?|in\ (?:the\ )?future|every\ (?:single\ )?time
    |each\ time|any\ ?time|whenever|at\ all\ times|under\ no\ circumstances
    |no\ matter\ (?:what|how|which|who)|by\ default|as\ a\ rule|in\ general|generally
    |for\ good|permanently|without\ exceptions?|no\ exceptions?|once\ and\ for\ all
    |(?:not|\w+n't|never|no|stop)\b.*\bany\ ?(?:more|longer)|no\ longer
    |(?:do\ not|don't|no\b.*)\ ever|not\ ever|(?:only|ever)\ ever
    |without\ (?:first\ |explicitly\ )?(?:asking(?!\ (?:the|a|her|him|them|my)\b)
    |(?:telling|consulting|checking\ with)\ me)
    |(?:want|like|need)\ (?:all|every|each|any)\ (?:\w+\ )?{RECURRING}
    |all\ (?:my\ |our\ )?(?:future|further)\ \w+
    |(?:when|if)\ i\ (?:ask|say|tell|give|send|write|paste|show|mention|want)
    |when\ (?:you\ )?(?:writ|answer|repl|respond|commit|generat|creat|explain|edit|quot|cit|us
        |format|nam|cod|comment|review|refactor|summari|translat)\w*
        \ (?!the\b|this\b|that\b|it\b|these\b)\w+
    |(?:ask|tell|check\ with|consult|warn)\ me\ (?:first|before)|unless\ i\ (?:ask|say|tell)
    |until\ i\ (?:say|tell)|every\ day|everywhere|globally
    |(?:in|before|after|for|with|to|on|at|of|from)\ (?:every|each|all|any)
        \ (?:of\ )?(?:my\ |your\ |our\ |new\ |future\ |single\ )*{RECURRING}
    |(?:every|all|any|each)\ (?:of\ )?(?:my|your|our|future)\ (?:\w+\ )?{RECURRING}
    |(?:in|all|keep|make|write|sign|start|begin|end|format)\ your\ (?:\w+\ )?
        (?:answers|replies|responses|messages|commits|comments|summaries|explanations|e-?mails)
    |(?:in|before|after|for)\ (?:\w+\ )?(?:commit\ messages|pull\ requests|prs|commits|replies
        |answers|responses|docstrings|emails))\b""",
    _FLAGS,
)
# Ties a wish to the task at hand.
AT_HAND = lazy_regex(
    r"""\b(?:this\ (?:time|once|one|afternoon|morning|week)|for\ (?:now|once|today|the\ moment)
    |just\ (?:this\ once|now|once)|right\ now|at\ the\ moment|(?:today|tomorrow)(?!\ on)|tonight|yet
    |(?:in|for|on|with|of|during|to|from)\ (?:this|that|these|those|the\ (?:above|following
        |attached|next|current\ (?!project|repo)\w+))
        \ (?!project|repo|codebase|code\ base|folder|directory|workspace|chat|conversation|account
        |machine|computer|house|point|day)\w+)\b""",
    _FLAGS,
)
# Words of a clause's head that are not its subject, verb or condition.
OPENERS = lazy_regex(
    r"""(?:(?:and|but|so|then|also|or|plus|oh|ok|okay|well|hi|hello|hey|yes|nope|no(?=\W*(?:,|$))|wait|right|great
        |good|sure
    |thanks(?:\ a\ lot)?|thank\ you|sorry|btw|by\ the\ way|fyi|one\ (?:more\ )?thing
    |and\ another\ thing
    |(?:important|quick)\ note|note(?:\ that)?|reminder|(?:new\ )?rules?(?:\ \d+)?|important|p\.?s
    |please(?:\ note)?|pls|plz|kindly|just|simply|also|actually|again|first|finally|once\ more
    |in\ (?:general|(?:the\ )?future)|generally|from\ now\ on|from\ (?:today|here)\ on|henceforth
    |(?:going|moving)\ forwards?|as\ (?:a\ rule|always)|by\ default|at\ all\ times
    |instead|for\ (?:good|me)|everywhere|globally|remember|no\ matter\ (?:what|which|how)\b.*?
    |under\ no\ circumstances|to\ be\ clear|for\ the\ record|one\ last\ thing|my\ rule)
    (?![\w'-])[\s.!]*)+""",
    _FLAGS,
)
# Words that begin a condition or an adverbial: the rule is in another clause.
SUBORDINATE = lazy_regex(
    r"""(?:when(?:ever)?|if|unless|before|after|until|till|while|because|since|as|once|every\ time
    |each\ time|any\ ?time|for|in|on|at|with|within|without|during|across|throughout|to
    |where(?:ver)?
    |instead\ of|rather\ than|even|regardless|no\ matter|except|only\ (?:if|when)|not\ (?:just|only)
    |globally|everywhere)\b""",
    _FLAGS,
)
# Ways of answering. A message that only asks for one of these means it for good.
MANNER = lazy_regex(
    r"""\b(?:emojis?|bullets?|bullet\ points?|headings?|markdown|jargon|buzzwords|slang|emoticons?
    |exclamation\ (?:marks?|points?)|em[ -]dash(?:es)?|abbreviations?|acronyms?|filler
    |apologi[sz]\w+
    |apolog(?:y|ies)|guess(?:ing)?|flatter\w*|sugar-?coat|lectur(?:e|ing)|disclaimers?|preambles?
    |small\ talk|brief|concise|terse|succinct|blunt|honest|formal(?:ly)?|informal(?:ly)?|polite
    |swear|metric|imperial|celsius|fahrenheit|call\ me|(?:answer|repl(?:y|ies)|response|respond
    |speak|talk)s?\b.*\b(?:short|shorter|brief|long|in\ [A-Z]?[a-z]+
        |(?:under|below|within|at\ most|(?:no|not)\ more\ than|(?:fewer|less|shorter)\ than)
        \ (?:\d+|a|one|two|three|four|five|ten|twenty)\ [a-z]+))\b""",
    _FLAGS,
)
# A label before a colon that a writer puts before a rule. Any other one names a speaker.
LABEL = lazy_regex(
    r"""\W*(?:(?:new|house|general|important|one\ more|one|my|first|second|last|coding|style
        |quick)\ )*
    (?:rules?|notes?|reminder|important|ps|p\.s\.?|fyi|preferences?|style|request|thing|remember
    |please|tip|ok(?:ay)?|thanks|also|and|answer|instructions?\ for\ you)
    (?:\ (?:number\ )?(?:\d+|one|two))?\W*""",
    _FLAGS,
)
EVERYWHERE = lazy_regex(
    r"""\b(?:everywhere|globally|(?:in|across|for)\ (?:all|any|every|each)(?:\ of)?
        (?:\ (?:my|our|other|the|single|these))*\ (?:projects?|repos?|repositor(?:y|ies)|sessions?
        |chats?|conversations?|workspaces?|folders?|code\ ?bases?)
    |(?:no\ matter|regardless\ of|whatever|whichever)\ (?:(?:which|what|the)\ )?(?:project|repo\w*)
    |überall|in\ allen\ (?:projekten|chats|gesprächen)|partout|en\ todas\ partes)\b""",
    _FLAGS,
)
# Another person's words, told by the user.
REPORTED = lazy_regex(
    r"""(?<!\bi\ )(?<!\bi've\ )\b(?:says?|said|tells|told|wrote|writes|reads|asked|asks|insists
    |insisted|claims|claimed|thinks|thought|suggests|suggested|recommends|recommended|warns|warned
    |shouts|shouted|goes|called|named|titled|entitled|heard|according\ to)\b""",
    _FLAGS,
)
QUOTED = lazy_regex(r'"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|`[^`]*`|(?<!\w)\'[^\']{2,}\'(?!\w)')
_QUOTES = lazy_regex("[\"“„«`']")
# Particles that are no part of a subject.
MANNER_OF_SPEECH = lazy_regex(
    r"""\b(?:from\ now\ on|in\ (?:the\ )?future|going\ forward|as\ a\ rule|by\ default|to\ me
    |with\ me|i\ (?:want|like|need))\b""",
    _FLAGS,
)
# The head of a clause that takes back what was said before.
FORGOTTEN = r"""(?:forget|ignore|disregard|scratch|scrap|drop|cancel|undo|never\ mind|strike)\ (?:
    what|everything|all\ that|that|about|(?:the|my|our|that|those|these|your)\ (?:\w+\ )*?(?:rules?
    |instructions?|preferences?|requests?|wish(?:es)?|thing|bit|part)|the\b|my\b)
    |i(?:'ve|\ have)?\ (?:just\ )?changed\ my\ mind|on\ second\ thoughts?|correction(?=\W*$)"""
REVOKED = lazy_regex(
    rf"""{FORGOTTEN}|(?:you|we)\ (?:no\ longer|do\ not|don't|needn't)\ (?:have|need)\b
    |(?:there\ is|there's|it\ is|it's)?\ ?no\ (?:longer\ (?:a\ )?)?need\b""",
    _FLAGS,
)


def without_quoted(text: str) -> str:
    """The text with "it" in place of what it quotes.

    Example:
        >>> without_quoted('Never write "soon".')
        'Never write it.'
    """
    return QUOTED.sub("it", text) if _QUOTES.search(text) else text
