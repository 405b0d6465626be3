"""Recognizes rules: what somebody who is addressed must do, or must not do.

Pure. Between people a rule needs an addressee who could break it; an assistant's advice in an
explanation is none; what the user types to an assistant is one in many wordings. Sentences have
plain apostrophes here.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

from treemem.patterns import folded_regex
from treemem.rules import succession, wording
from treemem.summarize.kinds.phrases import FLAGS, Phrases, Sentence
from treemem.summarize.kinds.place import Place

# Where a clause begins.
_BEGIN = r"(?:^|[:;,]\ |\b(?:and|but|so|then|please|also|just|yes\.)\ )\W{0,3}"
# What follows "always" and "never" in a story.
_TOLD = (
    r"\w*(?:(?:ed|ing)\b|(?:had|has|have|was|were|saw|got|went|did|came|made|said|knew|took|gave"
    r"|left|sent|ran|lost|before|mind|know|been|seen|heard|written|done|thought|felt|found|met|gets?)\b)"
)
_NUMBER = r"(?:\d|a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half)"
# A "must" that guesses or is a way of speaking.
_GUESS = folded_regex(
    r"""\bmust(?:\ (?:really|be\ (?:so|really|very|a|an|nice|great|hard|tough|fun|amazing|awesome
        |exciting|scary|wonderful|difficult|satisfying|challenging|fulfilling|feeling|something)
        |have\ (?:\w+\ )?(?:been|\w+(?:ed|en|wn)|gone|had|come|lost|left|felt|got)\b|feel|mean
        |look|seem|admit|confess)|'ve|-\w+|s\b)
    |\bmust\ have\ (?:quite|such|some|so|many|a\ lot)\b|\bi\ must\ say\b|\ba\ must\b|\bmust-""",
    FLAGS,
)
_MUST = frozenset(("must", "mustn't"))
# What forbids or obliges in any voice that sets rules.
_FORMAL = Phrases(
    ("not never only", r"""\b(?:is|are|'re|am)\ (?:not|never|only)\ to
        \ (?!be\ (?:seen|found|missed)\b)[a-z]+"""),
    ("shall", r"\bshall\ not\b"),
    ("never circumstances ever", r"""\b(?:should|can|may)\ never\b
        |\bshould\ (?:under\ no\ circumstances|only\ ever)\b"""),
    ("allowed permitted", r"""(?:\b(?:is|are|be|it's)\ (?:strictly\ )?(?:not|never)|n't)
        \ (?:allowed|permitted)\b"""),
    ("forbidden prohibited mandatory compulsory obligatory non-negotiable off-limits limits",
     r"""\b(?:is|are|be)\ (?:strictly\ )?(?:forbidden|prohibited|mandatory|compulsory|obligatory
        |non-negotiable|off[ -]limits)\b"""),
    ("circumstances condition", r"\bunder\ no\ (?:circumstances|condition)\b"),
    ("exception exceptions", r"\b(?:no\ exceptions?|without\ exception)\b"),
    ("may", r"""\b(?:we|you|they|nobody|no\ one)\ may\ (?:not\ (?!be\ (?:like|able|a|the|in)\b
        |have\b|know\b|need\b|want\b|see\b)|only|never)
        |\bmay\ not\ be\ [a-z]+(?:ed|wn|en)\b"""),
    ("nobody one", r"""\b(?:nobody|no\ one)\ (?:else\ |(?:except|but)\ [^,;]{2,40}\ )?
        (?:may|can(?!\ (?:tell|say|know|see|explain|be|help)\b)|is\ (?:allowed|to)|should
        |shall)\b"""),
    ("limit rule requirement maximum minimum policy", r"""\bhard\ (?:limit|rule|requirement)\b
        |\b(?:the|our|my|one)\ (?:only\ |new\ |house\ )?(?:rule|limit|maximum|minimum|policy
        |requirement)\ is\b|\b(?:the|our|my|one)\ (?:rule|limit|policy)\ for\ [^:]{2,60}:
        |\b(?:gets?|has|have)\ a\ rule:|^\W*rule\b[^:]{0,30}:"""),
    ("now happens", r"\b(?:from\ now\ on|whatever\ happens)\b"),
    ("capped party parties", r"\bcapped\ at\b|\bno\ third[- ]part(?:y|ies)\b"),
)  # fmt: skip
# An amount or a date that must not be exceeded, and the words that make it binding.
_BOUND = Phrases(
    ("than latest most within least", rf"""\b(?:no\ (?:more|later|longer|less|fewer)\ than
        |at\ the\ (?:latest|most)|within\ \d+\ (?:days?|hours?|minutes?|weeks?)
        |at\ (?:most|least)\ (?:\w+\ )?{_NUMBER}|{_NUMBER}\ (?:\w+\ ){{0,3}}at\ most)\b"""),
    ("fewer less longer", rf"""\b{_NUMBER}\ (?:\w+\ )?or\ (?:fewer|less)\b|\bno\ longer\ than\b"""),
)  # fmt: skip
_BINDING = folded_regex(
    r"""\b(?:must(?:n't)?|should|may|can|shall|(?:has|have|needs?|is|are)\ to|allow\w*|require\w*
    |wants?|keep|limit|cap(?:ped)?|maximum|minimum|insist\w*|only)\b""",
    FLAGS,
)
# What is asked for in the imperative.
_COMMAND = Phrases(
    ("never", rf"{_BEGIN}never\ (?:ever\ |again\ )?(?!{_TOLD})[a-z]+"),
    ("always", rf"{_BEGIN}always\ (?!{_TOLD})[a-z]+"),
    ("do don't", rf"""{_BEGIN}(?:do\ not|don't)\ (?:ever\ |let\ )?(?!(?:know|think|worry|mind|have
        |need|want|see|forget|hesitate|yet|get|be|even|give|stop|understand|just
        |really)\b)[a-z]+"""),
)  # fmt: skip
# More that a user or a document asks for, and an assistant that repeats it in plain words.
_WISH = Phrases(
    ("sure stick avoid remember keep use whenever no leave all every each only",
     r"""^\W*(?:please\ |yes\.\ )?(?:make\ sure\b(?!\ (?:that\ )?(?:these|this|it|they|those)\b)
        |be\ sure\ to\b|stick\ to\b|avoid\b
        |remember\ to\b|keep\ [^,;]{2,60}\ (?:(?:at|below|under|within|out)\b|or\ (?:less|fewer)\b)
        |only\ use\b|whenever\ you\b|no\ [a-z]+\ (?:in|on|past|after|before|beyond|for)\b
        |leave\ (?!(?:it|that|this|them|me|him|her)\ alone)[^,;]{2,60}\ alone\b
        |use\ [^,;]{2,60}\ and\ nothing\ (?:else|but)\b
        |(?:all|every(?!\ (?:\w+day|year|week|month|summer|winter|spring|morning|evening
        |night)\b)|each)
        \ [a-z -]{2,40}\ (?:needs?|gets?|goes|go|belongs?|comes?|come)\b)"""),
    ("only", r"""(?:^|[:;]\ |\b(?:and|but)\ )\W*only\ [^.,;]{2,60}
        \ (?:may|can|should|shall|is\ allowed)\b"""),
    ("every each all", r"""\bi\ want\ (?!to\b)[^.,;]{2,40}\ (?:in|on|for|with)\ (?:every|each
        |all)\b"""),
    ("has have", r"""\b(?:has|have)\ to\ (?:be\ (?!(?:a|an|the|true|some|there|something|careful
        |honest|able|very|really)\b)|stay\b|remain\b|keep\b)"""),
    ("stop", r"\bstop\ and\ (?:tell|ask|page|call|wait)\b"),
    ("rule", r"\b(?:on\ (?:a|the)|as\ a)\ rule\b"),
    ("requires require needs need", r"""\b(?:requires?|needs?)\ (?:a|an|one|two|three|\d+)\b
        [^.?]{3,}\bor\b|\bneeds?\ to\ be\ (?:at|under|over|below)\b"""),
    ("please frozen", r"\bfor\ me,?\ please\b|\bfrozen\ (?:from|until)\b"),
    ("are is", r"\b(?:is|are)\ to\ be\ [a-z]+(?:ed|n|wn)\b"),
    ("always", r"\b(?:please|you|we)\ always\ [a-z]+|\b(?:should|shall)\ always\b"),
    ("never", rf"\bwe\ never\ (?!{_TOLD})[a-z]+"),
    ("prefer preference rather stand", r"""\bi\ (?:strongly\ )?prefer\b|\bmy\ preference\ is\b
        |(?<!think\ )\bi'd\ (?:strongly\ )?prefer\b(?!\ if\ they)|\bi'd\ rather\ (?:not|you|we)\b
        |\bi\ can't\ stand\b"""),
    ("me ask tell", r"\b(?:ask|tell)\ me\ (?:first|before)\b|\bwithout\ (?:asking|telling)\ me\b"),
    ("else", r"\bnothing\ else\ (?:for|than)\b|\bnowhere\ else\b"),
    ("without", r"""\bwithout\ (?:my|our)\ [a-z ]{0,20}(?:ok|okay|consent|approval
        |permission)\b"""),
    ("until", r"\buntil\ i\ say\b"),
    ("everything anything whatever nothing", r"""\b(?:everything|anything|whatever|nothing)\ (?:that
        \ )?[^.;]{2,60}\ (?:has\ to|must|needs\ to|stays)\b"""),
)  # fmt: skip
# How an assistant advises the user in prose.
_ADVICE = folded_regex(
    r"""\b(?:make\ sure|be\ sure|remember|don't\ forget|try)\ to\b|\byou(?:r|'ll
        |'re)?\b(?!.*\b(?:me|my|i|we|our|us)\b)""",
    FLAGS,
)
# What only a user or a document demands; an assistant states an opinion by it.
_DEMAND = Phrases(
    ("need needs", r"""\bneeds?\ to\ be\ (?!(?:a|an|the|true|some|there|careful|honest|able)\b)
        |\bneeds?\ to\ (?:stay|remain|keep)\b"""),
)  # fmt: skip
# What the speaker does, did or was told.
_OWN_STORY = folded_regex(
    r"""\b(?:i|he|she|they|it)(?:'ve|'d|'s|\ have|\ had|\ has|\ would|\ could|'ll|\ will)?\ (?:had
        \ )?(?:always|never)\b
    |\b(?:would|will|could|'ll|been|is|was|were|are)\ (?:always|never)\b
    |\b(?:i|they|it|he|she)\ (?:do\ not|don't)\b""",
    FLAGS,
)
_FOR_NOW = folded_regex(r"\b(?:yet|for\ now|right\ now|at\ the\ moment|this\ time|today)\b", FLAGS)
# Between people: somebody is bound, by more than encouragement.
_SUBJECT = r"""(?:we|you|they|she|he|everyone|everybody|nobody|no\ one|(?:all|every|each|no|the|our
    |your|any)\ [\w'-]+(?:\ [\w'-]+){0,4}?)"""
_BOUND_ONE = r"""(?:we|you|everyone|everybody|(?:all|every|each)\ [\w'-]+(?:\ [\w'-]+){0,3}?)"""
_AMONG_PEOPLE = Phrases(
    ("must mustn't", rf"""(?<!\bi)\ (?:mustn't|must\ (?:not|never|only))\b
        |\b{_BOUND_ONE}\ must\ (?:always\b|(?!(?:be|feel|have|know|love|miss|really|mean
        |look)\b)[a-z]+)"""),
    ("not only never isn't aren't may shall should", rf"""\b{_SUBJECT}\ (?:(?:(?:is|are)(?:n't|\ not
        |\ only|\ never)|'re\ (?:not|only))\ (?:allowed|permitted|to)|may\ (?:not\ (?!be\b|have\b
        |know\b|need\b|want\b|see\b|get\b|always\b)|only|never)
        |should\ never|shall\ not)\b"""),
    ("nobody one", r"\b(?:nobody|no\ one)\ (?:else\ )?(?:may|is\ (?:allowed|to)|should)\b"),
    ("forbidden prohibited mandatory compulsory off-limits limits", r"""\b(?:is
        |are)\ (?:strictly\ )?
        (?:forbidden|prohibited|mandatory|compulsory|off[ -]limits)\b"""),
    ("now", r"""\bfrom\ now\ on,?\ (?:we|you|everyone|everybody|all|nobody|no|every|each|the|please
        |only)\b"""),
    ("rule policy", r"\b(?:the|our|my|a|new|house)\ (?:rule|policy)\ (?:is|that|of\ the\ house)\b"),
    ("circumstances", r"\bunder\ no\ circumstances\b"),
    ("deadline limit maximum cap", r"\b(?:deadline|limit|maximum|cap)\ (?:is|of|for)\b.*\d"),
    ("has have needs need", r"""\b(?:has|have|needs?)\ to\ be\ [a-z]+(?:ed|en|in|out|back|done
        |ready)
        \b.*\b(?:by|before|until)\ (?:the\ )?(?:\d|end|noon|midnight|tomorrow|tonight
        |(?:mon|tues|wednes|thurs|fri|satur|sun)day)"""),
    ("always never do don't", r"""^\W*(?:\w+,\ |and\ |but\ |so\ |please\ )?(?:never|always|do\ not
        |don't)\ (?:ever\ |let\ )?(?!(?:give|stop|quit|let|worry|forget|be|hesitate|mind|know|think
        |have|been|had|lose|get|dream|feel|doubt|change|judge)\b)[a-z]+\ .*\b(?:before|without
        |unless|until|after|when|while|again)\b"""),
)  # fmt: skip


def is_lasting(sentence: str, place: Place) -> bool:
    """Whether a sentence sets or takes back a rule for good, in any language.

    Example:
        >>> is_lasting("From now on, answer in French.", Place("typed"))
        True
    """
    if place.voice not in ("user", "document"):
        return False
    return wording.form_of(sentence) is not None or succession.takes_back(sentence)


def is_constraint(said: Sentence, place: Place) -> bool:
    """Whether a sentence is a rule in other words than those of is_lasting.

    Example:
        >>> words = "she must not promise anybody an amount".split()
        >>> said = Sentence.of("She must not promise anybody an amount.", words)
        >>> is_constraint(said, Place("person"))
        True
        >>> said = Sentence.of("Never give up!", {"never", "give", "up"})
        >>> is_constraint(said, Place("person"))
        False
    """
    if said.text.endswith("?"):
        return False
    if place.voice == "person":
        found = _AMONG_PEOPLE.find(said)
        return found is not None and not _GUESS.search(said.low)
    if place.is_advice and place.turn.setting != "agent":
        return False
    return _is_set(said, place)


def _is_set(said: Sentence, place: Place) -> bool:
    """Whether a user, a document or an assistant at work sets a rule in these words."""
    if not _MUST.isdisjoint(said.words) and not _GUESS.search(said.low):
        return True
    if _FORMAL.find(said):
        return True
    if _BOUND.find(said) and _BINDING.search(said.low):
        return True
    if place.is_advice:
        return False
    if place.voice == "assistant" and _ADVICE.search(said.low):
        return False
    if _COMMAND.find(said):
        return not (_OWN_STORY.search(said.low) or _FOR_NOW.search(said.low))
    if place.voice == "user" and _DEMAND.find(said):
        return True
    return _WISH.find(said) is not None
