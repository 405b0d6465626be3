"""Compares a clause of a statement with the run of clauses that contains its words.

Pure. The two mean the same if persons, negation, certainty, amounts and word order agree.
Tested in tests/verify/test_check.py and tests/verify/test_refusals.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from treemem.text.cache import SENTENCES_CACHED_MAX
from treemem.verify import lexicon
from treemem.verify.clauses import Run, counts
from treemem.verify.people import KIN
from treemem.verify.words import (
    IRREGULAR,
    REPORTING_VERBS,
    SPEECH_VERBS,
    WISH_VERBS,
    Word,
    misplaced_number,
    names_by_role,
    split_words,
    stem,
)

# The least share of words that must keep their order.
ORDER_MIN = 0.5
# The most content words between a subject and its verb.
BETWEEN_MAX = 3


def difference(
    clause: str, run: Run, subject: str | None, aliases: dict[str, str], whole: str = ""
) -> str:
    """How a clause differs from the run that contains its words, "" if it does not.

    subject: the speaker whom the clause is about, None for another subject. aliases: speakers by
    the lower-case words of their names. whole: the statement, which may contain a condition.
    """
    return (
        _negation(clause, run)
        or _certainty(clause, run, whole or clause)
        or ("turned into its opposite" if opposite(clause, run.text) else "")
        or _amount(clause, run.text)
        or _joint(clause, run)
        or ("mixes what was said apart" if _is_mixed(run) else "")
        or _person(clause, run, subject, aliases)
        or (_subject(clause, run, subject, aliases) if subject else "")
        or _order(clause, run, subject, aliases)
        or ("number of something else" if misplaced_number(clause, run.text) else "")
    )


def _negation(clause: str, run: Run) -> str:
    in_run, in_clause = lexicon.NEGATION.search(run.text), lexicon.NEGATION.search(clause)
    return "" if bool(in_run) == bool(in_clause) else "negation differs from its source"


def _certainty(clause: str, run: Run, whole: str) -> str:
    if lexicon.CONDITION.search(run.sentences) and not lexicon.CONDITION.search(whole):
        return "a condition is left out"
    wants = any(word.lower in WISH_VERBS for word in split_words(clause))
    asks = lexicon.ASKING.search(clause) or clause.rstrip().endswith("?")
    if run.asks and not asks and not (wants and lexicon.REQUEST.search(run.text)):
        return "a question told as a fact"
    if wants and not lexicon.AFTER.search(run.sentences):
        return "a wish not in its source"
    if lexicon.REPORT.search(run.text) and not any(
        w.lower in SPEECH_VERBS for w in split_words(whole)
    ):
        return "certainty differs from its source"
    if run.asks and lexicon.ASKS.search(clause):
        return ""
    if bool(lexicon.DOUBT.search(run.text)) != bool(lexicon.DOUBT.search(clause)):
        return "certainty differs from its source"
    return ""


def opposite(text: str, other: str) -> bool:
    """Whether a text contains a word whose opposite, but not the word itself, is in the other.

    Example:
        >>> opposite("The cache is enabled.", "The cache is disabled.")
        True
    """
    pairs = _opposable(text)
    if not pairs:
        return False
    heard = _heard(other)
    return any(not heard & own and heard & opposed for own, opposed in pairs)


# Cached, since every statement of a summary is compared with many others.
@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _heard(text: str) -> frozenset[str]:
    return frozenset(word.lower for word in split_words(text))


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _opposable(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """For every word with an opposite, the words of its side and of the opposite side."""
    return tuple(
        (frozenset(own), frozenset(opposed))
        for word in split_words(text)
        for own, opposed in lexicon.OPPOSED.get(word.lower, ())
    )


def _amount(clause: str, source: str) -> str:
    own, heard = _heard(clause), _heard(source)
    same = own & lexicon.AMOUNTS <= heard and heard & lexicon.LIMITING <= own
    return "" if same else "amount not in its source"


def speaks(text: str) -> bool:
    """Whether a text contains "I", "we" or "you" outside quotation marks.

    Example:
        >>> speaks("Ana sold my boat."), speaks('Ana said "I sold it".')
        (True, False)
    """
    return lexicon.SELF.search(lexicon.QUOTED.sub("", text)) is not None


def _joint(clause: str, run: Run) -> str:
    """Refuses a clause without the conjunction that joins the clauses of its run."""
    own = _heard(clause)
    for part in run.clauses[1:]:
        first = split_words(part.text)[0].lower
        if first in lexicon.JOINTS and first not in own:
            return "how it hangs together is left out"
    return ""


def _is_mixed(run: Run) -> bool:
    """Whether a clause after the first has its own subject, which would mix two assertions."""
    for part in run.clauses[1:]:
        linked = [word for word in split_words(part.text) if word.lower not in lexicon.LINKS]
        if not linked or not _is_past_or_finite(part.text):
            continue
        head = linked[0]
        named = head.text[0].isupper() and bool(head.stem)
        if lexicon.PRONOUNS.get(head.lower) == "i" and lexicon.SELF.search(run.clauses[0].text):
            continue  # the author is still the subject
        if named or head.lower in lexicon.DETERMINERS | lexicon.OWN | lexicon.PRONOUNS.keys():
            return True
    return False


def _is_past_or_finite(text: str) -> bool:
    is_finite = lexicon.FINITE.search(text) is not None
    return is_finite or any(word.lower in IRREGULAR for word in split_words(text))


def _person(clause: str, run: Run, subject: str | None, aliases: dict[str, str]) -> str:
    """Refuses a pronoun that is neither in the source nor preceded by a name."""
    heard = {lexicon.PRONOUNS.get(word.lower) for word in split_words(run.text)}
    named = subject == run.author and "i" in heard
    owners = {word.lower for word in split_words(run.text)} & (lexicon.OWN | lexicon.THEIRS)
    strange = lexicon.THEIRS if "you" in heard and "i" not in heard and not owners else frozenset()
    for word in split_words(clause):
        if word.lower in strange:
            return "pronoun without its person"
        if word.name in aliases or (word.text[0].isupper() and word.lower not in lexicon.PRONOUNS):
            named = True
        who = lexicon.PRONOUNS.get(word.lower)
        if who is None or who in heard or who == "it" or (who == "he" and named):
            continue
        return "pronoun without its person"
    return ""


def _subject(clause: str, run: Run, subject: str, aliases: dict[str, str]) -> str:
    """Refuses a clause about a speaker if its verb has another subject in the source."""
    wanted = [word for word in split_words(clause) if counts(word) and word.name not in aliases]
    if not wanted:
        return ""
    heard = split_words(run.sentences)
    # A verb of speech is the main verb if the source has it too.
    stems_heard = {stem(word.lower) or word.lower for word in heard}
    speech = [
        w for w in split_words(clause)[:4] if w.lower in SPEECH_VERBS and w.stem in stems_heard
    ]
    verb = (speech or wanted)[0]
    if verb.lower in KIN and len(wanted) > 1:
        verb = wanted[1]  # "Ana's brother left": what he did, not that there is one
    begin = run.sentences.find(run.clauses[0].text)
    end = run.sentences.rfind(run.clauses[-1].text) + len(run.clauses[-1].text)
    within = [i for i, word in enumerate(heard) if begin <= word.start < end]
    places = [i for i in within if heard[i].stem and heard[i].stem == verb.stem]
    fits = any(
        _fits(clause, heard, at, verb.lower, run.author, subject, aliases)
        and not lexicon.BETWEEN.search(
            run.sentences[_start_before(heard, at, aliases) : heard[at].start]
        )
        for at in places
    )
    return "" if fits else "told of the wrong speaker"


def _start_before(heard: Sequence[Word], at: int, aliases: dict[str, str]) -> int:
    """The offset of the nearest person before a word, or of the word if there is none."""
    for word in reversed(heard[:at]):
        if word.lower in lexicon.PRONOUNS or word.lower in lexicon.OWN or word.name in aliases:
            return word.start
    return heard[at].start


def _fits(
    clause: str,
    heard: Sequence[Word],
    at: int,
    form: str,
    author: str,
    subject: str,
    aliases: dict[str, str],
) -> bool:
    """Whether the word at this place of the source can have the clause's subject.

    heard: the words of the source. at: an index into them. form: the clause's form of the verb.
    """
    who, between = _subject_before(heard, at, aliases, author)
    own = author == subject
    possessive = re.match(rf"(?:the )?{re.escape(subject)}['’]s\b", clause, re.IGNORECASE)
    before = clause[: next(w.start for w in split_words(clause) if w.stem == heard[at].stem)]
    mine = any(word.lower in lexicon.OWN for word in heard)
    if who == "own":
        return own and bool(
            possessive or any(word.lower in lexicon.THEIRS for word in split_words(before))
        )
    if possessive and own and not mine:
        return False
    reports = any(
        word.lower in SPEECH_VERBS and word.lower != form for word in split_words(clause)[:4]
    )
    if who == subject and possessive and _is_of_kin(clause[possessive.end() :]):
        return False  # "Ana's brother left" is not said by Ana's "I left"
    if who == subject:
        reported = own or not reports or any(word.lower in SPEECH_VERBS for word in heard)
        return reported and between <= BETWEEN_MAX
    # "Can you mend it?" says what its author wants.
    if own and who == "you" and any(word.lower in WISH_VERBS for word in split_words(clause)[:4]):
        return True
    # "Ana says that it works" is right whatever the subject of Ana's sentence is.
    if own and reports:
        return True
    # "Went to the lake": the subject is omitted, and the verb comes first.
    elided = all(word.lower in lexicon.LEADING for word in heard[:at])
    is_verb = form.endswith(("ed", "ing")) or form in IRREGULAR
    return who is None and own and elided and heard[at].lower == form and is_verb


def _is_of_kin(owned: str) -> bool:
    return any(word.lower in KIN for word in split_words(owned)[:2])


def _subject_before(
    heard: Sequence[Word], at: int, aliases: dict[str, str], author: str
) -> tuple[str | None, int]:
    """The nearest person before a word: a speaker, "own" for a possession of the author, "you",
    "he", "it" or None; and the number of content words in between."""
    between = 0
    for index in range(at - 1, -1, -1):
        word = heard[index]
        if word.lower in lexicon.OWN:
            return "own", between
        who = lexicon.PRONOUNS.get(word.lower)
        if who == "i":
            return author, between
        if word.name in aliases:
            return aliases[word.name], between
        opens = index > 0 and heard[index - 1].lower in lexicon.OPENING
        next_to = index == at - 1 and word.stem and word.lower not in lexicon.LEADING
        if who is not None:
            return who, between
        if (opens or next_to) and word.text[0].isupper() and word.lower not in lexicon.PRONOUNS:
            return "he", between
        if word.stem:
            between += 1
    return None, between


def _order(clause: str, run: Run, subject: str | None, aliases: dict[str, str]) -> str:
    """Refuses a clause in which too few words keep their order, or names change places."""
    heard = [
        run.author.lower() if lexicon.PRONOUNS.get(word.lower) == "i"
        else aliases.get(word.name, "").lower() or word.stem
        for word in split_words(run.text)
    ]  # fmt: skip
    own = [
        aliases.get(word.name, "").lower() or word.stem
        for word in split_words(clause)
        if (word.stem or word.name in aliases)
        and word.lower not in REPORTING_VERBS
        and word.lower not in lexicon.TIMES
    ]
    if subject is not None and (not own or own[0] != subject.lower()):
        own = [subject.lower(), *own]
    places = [heard.index(word) for word in own if word in heard]
    in_order = _longest_rising(places)
    speakers = {speaker.lower() for speaker in aliases.values()}
    roles, others = names_by_role(clause), names_by_role(run.text)
    moved = {name for name, role in roles.items() if not role or role != others.get(name)}
    proper = [name for name in dict.fromkeys(own) if name in heard and name in speakers | moved]
    names = [heard.index(name) for name in proper]
    crossed = names != sorted(names)
    mixed = len(places) > 2 and in_order / len(places) < ORDER_MIN
    if mixed or crossed:
        return "roles or order changed"
    return ""


def _longest_rising(places: Sequence[int]) -> int:
    """The length of the longest increasing subsequence."""
    best: list[int] = []
    for index, place in enumerate(places):
        before = [best[j] for j in range(index) if places[j] < place]
        best.append(1 + max(before, default=0))
    return max(best, default=0)
