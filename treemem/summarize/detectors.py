"""Detects the kind of a sentence, and the errors in a tool's output, from the words alone.

Pure and simple on purpose: each kind of statement has a weight and one regular expression of the
English phrases that announce it. A sentence that matches none is a fact.
"""

from __future__ import annotations

import re

from treemem.rules import succession, wording
from treemem.types import StatementKind

_CONSTRAINT = r"""
    \b(?:mustn't|must(?:\ not|\ never|\ always|\ only|\ stay|\ remain|\ be|\ keep)?\b(?!\ have\b)
    |(?:should|may|can|shall)\ (?:never|under\ no\ circumstances|only\ ever)
    |shall\ not|is\ not\ allowed|are\ not\ allowed|not\ permitted|forbidden|off[ -]limits
    |under\ no\ circumstances|no\ matter\ what|non-negotiable|hard\ (?:limit|rule|requirement)
    |never\ (?:again\ )?(?!\w+(?:ed|ing)\b|(?:had|has|was|were|saw|got|went|did|came|made|said
        |knew|took|gave|left|sent|ran|lost|before|mind|know)\b)[a-z]+
    |(?:please|you|we|always)\ always|always\ (?:use|run|keep|write|ask|put|add|check|format|pin)
    |(?:please\ )?(?:do\ not|don't)\ (?:touch|change|use|commit|push|merge|deploy|run|delete|drop
        |write|store|log|add|edit|rename|ship|ever|rely|assume|send|call|mix|put)
    |i(?:'d)?\ (?:strongly\ )?prefer|my\ preference|has\ to\ (?:stay|remain|keep|be)
    |no\ (?:more|later|longer)\ than|within\ \d+|requirement\ is|may\ not|mandatory|compulsory
    |at\ (?:most|least)\ (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve)
    |only\ [^.,;]{2,40}\ (?:may|can|should|shall)|(?:on|as\ a)\ rule
    |nothing\ else\ (?:for|than)|nothing\ but|from\ now\ on|whatever\ happens
    |(?:the|my|our)\ (?:limit|rule|maximum|minimum)s?\ (?:is|are|for)
    |(?:only|not|n't)\ (?:[^.,;]{1,40}\ (?:is|are)\ )?(?:allowed|permitted)
    |n't\ (?:allowed|permitted)
    |(?:is|are|you're)\ (?:not|only|ever\ only|only\ ever)\ to\ [a-z]+|no\ exceptions?|nowhere\ else
    |(?:nobody|no\ one)\ (?:else|except|but)|under\ no\ condition|capped\ at|no\ third[- ]party
    |i'd\ rather|i\ can't\ stand|(?:ask|tell)\ me\ (?:first|before)|at\ the\ (?:latest|most)
    |without\ (?:my|our)\ [a-z ]{0,20}(?:ok|okay|consent|approval|permission)
    |leave\ [^,;]{2,60}\ alone|or\ (?:less|fewer|more)(?=[.!;]|$)
    |(?:do\ not|don't)\ let|(?:^|(?<=[:,]\ ))always\ [a-z]+
    |without\ (?:asking|telling)\ me|until\ i\ say)\b
"""
# Rules only if a person says them; an assistant's advice is full of such phrases.
_WISH = r"""
    ^\W*(?:please\ )?(?:make\ sure|be\ sure\ to|stick\ to
    |keep\ [^,;]{2,60}\ (?:at|below|under|within|out)|always\ [a-z]+|never\ [a-z]+|only\ use
    |avoid|remember\ to|remember\ that|whenever\ you
    |no\ [a-z]+\ (?:in|on|past|after|before|beyond|for)
    |(?:all|every|each)\ [a-z -]{2,40}\ (?:needs?|gets?|goes|go|belongs?|comes?|come))\b
    |\b(?:i\ want\ [^.,;]{2,40}\ (?:in|on|for|with)\ (?:every|each|all)|has\ to\ be|have\ to\ be
    |stop\ and\ (?:tell|ask|page|call|wait)|everything\ that|each\ time|every\ time
    |(?:requires?|needs?)\ (?:a|an|one|two|three|\d+)\b[^.?]{3,}\bor\b|everywhere\b|throughout\b
    |for\ me,?\ please|(?:is|are)\ to\ be\ [a-z]+(?:ed|n|wn)|frozen\ (?:from|until)
    |no\ matter\ how)\b
"""
_DECISION = r"""
    \b(?:(?:we|i|let's|let\ us|they)
        (?:'ll|\ will|'re\ going\ to|\ are\ going\ to|\ should)?\ (?:just\ )?
        (?:go|went|stick|stay|do)\ with
    |(?:we|i|they)(?:'ve|\ have|\ had)?\ (?:decided|chosen|chose|agreed|settled|opted|picked)
    |decision|decided\ (?:to|on|against|that)|agreed\ (?:to|on|that)|settled\ on
    |signed\ off|approved
    |let's\ (?:use|keep|switch|move|drop|make|do|add|store|start|put|take|call|leave|split|skip)
    |we(?:'ll|\ will)
        \ (?:use|keep|switch|move|drop|store|make|write|split|add|put|leave|rename|call)
    |i(?:'ll|\ will|'m\ going\ to)\ (?:use|keep|switch|drop|store|split)
    |(?:use|using|keep|chose|go\ with)\ [^.,;]{2,60}\ (?:instead\ of|rather\ than|over)\b
    |the\ plan\ is|go\ ahead\ with|final\ (?:answer|choice))
"""
_OPEN = r"""
    \b(?:todo|fixme|tbd)\b
    |\b(?:still\ (?:need|needs|have|has|missing|unclear|to\ do|to\ be|pending|waiting|not)
    |not\ yet|yet\ to\ [a-z]+|stuck|(?:have|has)(?:n't|\ not)\ [^.]{1,40}\ yet
    |(?:is|remains?|stays?|left)\ (?:unresolved|undecided|unclear)
    |(?:(?:questions?|issues?|points?|matters?|tickets?|tasks?|decisions?|choices?|problems?|bugs?
        |requests?|prs?|items?|topics?|discussions?|threads?|defects?|votes?|actions?)\b
        (?:\ (?!and\b|but\b|because\b)[\w'-]+){0,6}?
        |(?:this|that|it|which|everything|all|rest|one|two|three|\d+)
        (?:\ of\ (?:them|these|those))?)
        \ (?:is|are|was|remains?|stays?|left|still)\ (?:still\ |left\ )?open\b
    |(?:which|what|who|whom|whose|whether|when|where|how|why)\b[^.?;]{3,120}
        \ (?:is|are|remains?|stays?)\ (?:still\ |left\ )?open\b(?![^.]*\?)
    |\bopen,?\ (?:as\ to\ )?(?:whether|which|what|who|how|when|where|why|if)\b
    |open\ (?:question|point|item)s?
    |need(?:s)?\ to\ (?:decide|check|ask|confirm|find\ out|figure|clarify|talk|follow)
    |follow[ -]up|waiting\ (?:for|on)|blocked\ (?:on|by)|to\ be\ (?:decided|confirmed|done)
    |unaddressed|in\ the\ queue|ran\ out\ of\ time|under\ investigation|holding\ off
    |up\ in\ the\ air
    |keeps?\ forgetting|could(?:n't|\ not)\ agree|waiting\ to\ be|(?:i|we)\ (?:still\ )?owe
    |think\ it\ over
    |(?:don't|do\ not)\ know\ why|can't\ (?:figure\ out|find\ out|tell)\ (?:why|how|what|whether)
    |to\ follow\b(?=[.!]|$)|scheduled\ but|postpone[sd]?|has\ anyone|get\ back\ to\ (?:me|us|you)
    |(?:is|are|was|has|have|do|does|did)(?:n't|\ not)\ [^.!?]{0,60}\bso\ far
    |(?:has|have)(?:n't|\ not)\ (?:said|told\ us|decided|answered|replied)
    |unresolved|unanswered|unfinished|outstanding|pending|awaiting|to\ be\ decided
    |(?:no|not\ any)\ (?:answer|reply|word|news)|(?:have|has)(?:n't|\ not)\ heard
    |(?:is|are|was|were|do|does|did|have|has|had|can|could)(?:n't|\ not)\ [^.!?]{0,60}\byet
    |nobody\ (?:has|have|knows?|did)|what(?:'s|\ is)\ left|left\ to\ do|(?:did|do)(?:n't|\ not)\ get
        \ (?:a)?round\ to
    |(?:someone|somebody|one\ of\ us)\ (?:still\ )?(?:has\ to|needs\ to|should|must)
    |(?:you|we)\ still\ have\ to
    |(?:let's|let\ us|do)\ not\ forget|don't\ forget|remains\ to|so\ far\ (?:no|nobody|nothing)
    |don't\ know\ (?:yet|whether|if)|not\ sure\ (?:yet|whether|if)
    |remind\ me|for\ (?:later|tomorrow|next\ (?:week|time|sprint))|next\ steps?)\b
"""
_ERROR = r"""
    \b(?:root\ cause|caused\ by|the\ cause|(?:was|is)\ because|turns?\ out|regression
    |bug\b|broke\b|broken
    |crash(?:ed|es|ing)?|fail(?:ed|s|ing|ure)|timed\ out|timeout|traceback|exception|deadlock
    |out\ of\ memory|segfault|corrupt(?:ed|ion)?|data\ loss|exit\ code\ [1-9]|http\ [45]\d\d
    |[45]\d\d\ (?:error|response)|\w+error)\b
"""
_FLAGS = re.IGNORECASE | re.VERBOSE

CONSTRAINT_WEIGHT = 3.0
# In order of precedence. An open point comes before a decision, since a decision not yet made is
# an open point.
KINDS: tuple[tuple[StatementKind, re.Pattern[str], float], ...] = (
    ("constraint", re.compile(_CONSTRAINT, _FLAGS), CONSTRAINT_WEIGHT),
    ("open", re.compile(_OPEN, _FLAGS), 2.5),
    ("decision", re.compile(_DECISION, _FLAGS), 2.5),
    ("error", re.compile(_ERROR, _FLAGS), 2.0),
)
# Words without which an expression cannot match. Most sentences contain none, and a look-up in a
# set is a hundred times faster than the expression.
_TRIGGERS: dict[StatementKind, frozenset[str]] = {
    "constraint": frozenset(
        "must mustn't never always should may can shall allowed permitted forbidden off-limits "
        "limits circumstances matter non-negotiable limit rule requirement do don't don’t prefer "
        "preference has no most least latest within mandatory compulsory only not isn't aren't "
        "i'd rather stand ask tell nobody one capped nothing now whatever maximum minimum rules "
        "limits less fewer more without until alone exceptions exception nowhere condition off "
        "let please".split()
    ),
    "decision": frozenset(
        "go went stick stay decided chosen chose agreed settled opted picked decision signed "
        "approved let's let we'll we i'll i'm i use using keep instead rather over plan ahead "
        "final".split()
    ),
    "open": frozenset(
        "todo fixme tbd still yet open unresolved undecided unclear need needs follow follow-up "
        "waiting blocked decided confirmed done answer reply word news heard nobody what's left "
        "round around someone somebody us forget remains far know sure remind later tomorrow next "
        "unaddressed queue ran investigation holding air forgetting agree owe think figure find "
        "tell scheduled postpone postpones postponed anyone back said told answered replied "
        "outstanding pending awaiting unfinished stuck unanswered question point item questions "
        "points items steps step".split()
    ),
    "error": frozenset(
        "root caused cause because turns turn regression bug broke broken crash crashed "
        "crashes crashing fail failed fails failing failure timed timeout traceback exception "
        "deadlock memory segfault corrupt corrupted corruption loss exit http error "
        "response".split()
    ),
}
_TOOL_ERROR = re.compile(
    r"^(?:E\s+)?\w*(?:Error|Exception|Panic|panic)\b.{0,300}|^(?:FAILED|FAIL|ERROR|fatal:|error:)\W.{3,300}"
    r"|^.{0,80}\bexit (?:code|status) [1-9]\d*",
    re.MULTILINE,
)
_WISHES = re.compile(_WISH, _FLAGS)
_WISHING = frozenset(
    "make be stick leave keep always never only avoid remember want has have stop everything "
    "each every all whenever no requires require needs need everywhere throughout please is are "
    "frozen matter".split()
)
_PUNCTUATION = str.maketrans(dict.fromkeys('.,;:!?()[]{}"*`“”…', " ") | {"’": "'"})
_TIME_WORDS = frozenset(
    "yesterday today tomorrow monday tuesday wednesday thursday friday saturday sunday january "
    "february march april june july august september october november december week month year "
    "deadline".split()
)
# The most lines shown of one tool result.
TOOL_ERRORS_MAX = 2


def words_of(sentence: str) -> list[str]:
    """The words of a sentence as written, without the punctuation around them.

    Example:
        >>> words_of("He said: (stop).")
        ['He', 'said', 'stop']
    """
    return sentence.translate(_PUNCTUATION).split()


def kind_of(
    sentence: str, lower_words: frozenset[str], *, by_person: bool = False
) -> tuple[StatementKind, float]:
    """The kind of a sentence and the weight of that kind.

    by_person: whether the speaker may set rules, unlike an assistant that gives advice. What sets
    a rule for good or takes one back is a rule, in any wording.

    Example:
        >>> kind_of("Never push to main.", frozenset({"never", "push", "to", "main"}))
        ('constraint', 3.0)
        >>> kind_of("It runs on port 8080.", frozenset({"it", "runs", "on", "port", "8080"}))
        ('fact', 1.0)
    """
    if by_person and (wording.form_of(sentence) or succession.takes_back(sentence)):
        return "constraint", CONSTRAINT_WEIGHT
    if by_person and not lower_words.isdisjoint(_WISHING) and _WISHES.search(sentence):
        return "constraint", CONSTRAINT_WEIGHT
    for kind, pattern, weight in KINDS:
        suspected = not lower_words.isdisjoint(_TRIGGERS[kind])
        if (suspected or (kind == "error" and "rror" in sentence)) and pattern.search(sentence):
            return kind, weight
    return "fact", 1.0


def specifics(words: list[str], lower_words: frozenset[str]) -> int:
    """The number of numbers, identifiers, paths, names and time words.

    Example:
        >>> words = ["On", "Friday", "we", "gave", "Ana", "12", "files"]
        >>> specifics(words, frozenset(word.lower() for word in words))
        4
    """
    odd = sum(not word.isalpha() and "'" not in word for word in words)
    names = sum(map(str.istitle, words[1:]))
    return odd + names + len(lower_words & _TIME_WORDS)


def tool_errors(output: str) -> list[str]:
    """The last TOOL_ERRORS_MAX different lines of a tool's output that name an error.

    Example:
        >>> tool_errors("ok\\nKeyError: 'id'\\n")
        ["KeyError: 'id'"]
    """
    lines = [match.group().strip() for match in _TOOL_ERROR.finditer(output)]
    return list(dict.fromkeys(lines))[-TOOL_ERRORS_MAX:]
