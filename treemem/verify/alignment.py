"""Which stretch of what was said bears a clause out, and whether it says the same.

Pure. A clause of a statement rests on the smallest run of neighbouring clauses of one message
that holds all its words; whether the run says the same is then a matter of who does what, of
not, of perhaps, and of order.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from treemem.verify import lexicon
from treemem.verify.clauses import Run, counts
from treemem.verify.words import (
    IRREGULAR,
    SAYING,
    TELLING,
    WANTING,
    Word,
    misplaced_number,
    names_by_role,
    stem,
    words,
)

ORDER_MIN = 0.5
BETWEEN_MAX = 3


# -- does the run say the same? --------------------------------------------------------


def difference(
    clause: str, run: Run, subject: str | None, aliases: dict[str, str], whole: str = ""
) -> str:
    """In what a clause differs from the run that holds its words, or "".

    subject: the speaker that it tells of, if it does. aliases: speakers by each lower-case
    name they go by. whole: the statement that it is part of, where a condition may stand.
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
    """A not that appears or disappears turns a statement round."""
    said, told = lexicon.NEGATION.findall(run.text), lexicon.NEGATION.findall(clause)
    return "" if bool(said) == bool(told) else "negation differs from its source"


def _certainty(clause: str, run: Run, whole: str) -> str:
    if lexicon.CONDITION.search(run.sentences) and not lexicon.CONDITION.search(whole):
        return "a condition is left out"
    wants = any(word.lower in WANTING for word in words(clause))
    asks = lexicon.ASKING.search(clause) or clause.rstrip().endswith("?")
    if run.asks and not asks and not (wants and lexicon.REQUEST.search(run.text)):
        return "a question told as a fact"
    if wants and not lexicon.AFTER.search(run.sentences):
        return "a wish not in its source"
    if lexicon.REPORT.search(run.text) and not any(w.lower in SAYING for w in words(whole)):
        return "certainty differs from its source"
    if run.asks and lexicon.ASKS.search(clause):
        return ""
    if bool(lexicon.DOUBT.search(run.text)) != bool(lexicon.DOUBT.search(clause)):
        return "certainty differs from its source"
    return ""


def opposite(text: str, other: str) -> bool:
    """Whether a text has a word in it of whose opposite the other text speaks instead.

    Example:
        >>> opposite("The cache is enabled.", "The cache is disabled.")
        True
    """
    pairs = _opposable(text)
    if not pairs:
        return False
    heard = _heard(other)
    return any(not heard & own and heard & opposed for own, opposed in pairs)


# Of a summary's statements each is held against many others.
@functools.lru_cache(maxsize=20_000)
def _heard(text: str) -> frozenset[str]:
    return frozenset(word.lower for word in words(text))


@functools.lru_cache(maxsize=20_000)
def _opposable(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """What its words mean and what their opposites are."""
    return tuple(
        (frozenset(own), frozenset(opposed))
        for word in words(text)
        for own, opposed in lexicon.OPPOSED.get(word.lower, ())
    )


def _amount(clause: str, said: str) -> str:
    told, heard = ({word.lower for word in words(text)} for text in (clause, said))
    kept = told & lexicon.AMOUNTS <= heard and heard & lexicon.LIMITING <= told
    return "" if kept else "amount not in its source"


def speaks(text: str) -> bool:
    """Whether a text says I, we or you outside of quotation marks, as only a speaker can.

    Example:
        >>> speaks("Ana sold my boat."), speaks('Ana said "I sold it".')
        (True, False)
    """
    return lexicon.SELF.search(lexicon.QUOTED.sub("", text)) is not None


def _joint(clause: str, run: Run) -> str:
    told = {word.lower for word in words(clause)}
    for part in run.clauses[1:]:
        first = words(part.text)[0].lower
        if first in lexicon.JOINTS and first not in told:
            return "how it hangs together is left out"
    return ""


def _is_mixed(run: Run) -> bool:
    """Whether a clause after the first has a subject of its own: then what one says and what
    another says would be put together."""
    for part in run.clauses[1:]:
        said = [word for word in words(part.text) if word.lower not in lexicon.LINKS]
        if not said or not _is_past_or_finite(part.text):
            continue
        head = said[0]
        named = head.text[0].isupper() and bool(head.stem)
        if lexicon.PRONOUNS.get(head.lower) == "i" and lexicon.SELF.search(run.clauses[0].text):
            continue  # the same person goes on
        if named or head.lower in lexicon.DETERMINERS | lexicon.OWN | lexicon.PRONOUNS.keys():
            return True
    return False


def _is_past_or_finite(text: str) -> bool:
    found = lexicon.FINITE.search(text) is not None
    return found or any(word.lower in IRREGULAR for word in words(text))


def _person(clause: str, run: Run, subject: str | None, aliases: dict[str, str]) -> str:
    """A pronoun stands for somebody only where it stood in the source, or after a name."""
    heard = {lexicon.PRONOUNS.get(word.lower) for word in words(run.text)}
    named = subject == run.author and "i" in heard
    owners = {word.lower for word in words(run.text)} & (lexicon.OWN | lexicon.THEIRS)
    strange = lexicon.THEIRS if "you" in heard and "i" not in heard and not owners else frozenset()
    for word in words(clause):
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
    """What somebody says of himself may not be told of somebody else, nor the reverse."""
    wanted = [word for word in words(clause) if counts(word) and word.name not in aliases]
    if not wanted:
        return ""
    heard = words(run.sentences)
    # Who said something is told by the log too, where it has the same verb.
    stems_heard = {stem(word.lower) or word.lower for word in heard}
    saying = [w for w in words(clause)[:4] if w.lower in SAYING and w.stem in stems_heard]
    verb = (saying or wanted)[0]
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
    """Where the nearest person before a word stands; what stands between is what it belongs to."""
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
    who, between = _subject_before(heard, at, aliases, author)
    own = author == subject
    possessive = re.match(rf"(?:the )?{re.escape(subject)}['’]s\b", clause, re.IGNORECASE)
    before = clause[: next(w.start for w in words(clause) if w.stem == heard[at].stem)]
    mine = any(word.lower in lexicon.OWN for word in heard)
    if who == "own":
        return own and bool(
            possessive or any(word.lower in lexicon.THEIRS for word in words(before))
        )
    if possessive and own and not mine:
        return False
    telling = any(word.lower in SAYING and word.lower != form for word in words(clause)[:4])
    if who == subject:
        said = own or not telling or any(word.lower in SAYING for word in heard)
        return said and between <= BETWEEN_MAX
    # "Can you mend it?" is what the one who asks wants.
    if own and who == "you" and any(word.lower in WANTING for word in words(clause)[:4]):
        return True
    # "Ana says that it works" tells what Ana said, whatever its subject is.
    if own and telling:
        return True
    # "Went to the lake": the speaker is left out, and the verb is the first word.
    elided = all(word.lower in lexicon.LEADING for word in heard[:at])
    is_verb = form.endswith(("ed", "ing")) or form in IRREGULAR
    return who is None and own and elided and heard[at].lower == form and is_verb


def _subject_before(
    heard: Sequence[Word], at: int, aliases: dict[str, str], author: str
) -> tuple[str | None, int]:
    """Who stands nearest before a word: a speaker, "own" for what is the author's, "you",
    "he", "it", or nobody; and how many words that say something lie in between."""
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
    """Who does what to whom is a matter of order: most words have to keep it."""
    heard = [
        run.author.lower() if lexicon.PRONOUNS.get(word.lower) == "i"
        else aliases.get(word.name, "").lower() or word.stem
        for word in words(run.text)
    ]  # fmt: skip
    told = [
        aliases.get(word.name, "").lower() or word.stem
        for word in words(clause)
        if (word.stem or word.name in aliases)
        and word.lower not in TELLING
        and word.lower not in lexicon.TIMES
    ]
    if subject is not None and (not told or told[0] != subject.lower()):
        told = [subject.lower(), *told]
    places = [heard.index(each) for each in told if each in heard]
    kept = _longest_rising(places)
    speakers = {each.lower() for each in aliases.values()}
    roles, others = names_by_role(clause), names_by_role(run.text)
    moved = {name for name, role in roles.items() if not role or role != others.get(name)}
    proper = [each for each in dict.fromkeys(told) if each in heard and each in speakers | moved]
    names = [heard.index(each) for each in proper]
    crossed = names != sorted(names)
    mixed = len(places) > 2 and kept / len(places) < ORDER_MIN
    if mixed or crossed:
        return "roles or order changed"
    return ""


def _longest_rising(places: Sequence[int]) -> int:
    best: list[int] = []
    for index, place in enumerate(places):
        before = [best[j] for j in range(index) if places[j] < place]
        best.append(1 + max(before, default=0))
    return max(best, default=0)
