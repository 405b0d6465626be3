"""Which stretch of what was said bears a clause out, and whether it says the same.

Pure. A text is taken apart into sentences and clauses. A clause of a statement rests on the
smallest run of neighbouring clauses of one message that holds all its words; whether the run
says the same is then a matter of who does what, of not, of perhaps, and of order.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treemem import lexicon
from treemem.words import IRREGULAR, SAYING, TELLING, WANTING, Word, numbers, stem, words

RUN_CLAUSES_MAX = 6
ORDER_MIN = 0.5
BETWEEN_MAX = 3


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with its sentence; message: the index of what it was said in."""

    text: str
    sentence: str
    message: int
    closes: bool  # it ends its sentence


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring clauses of one message. author: who said them."""

    clauses: tuple[Clause, ...]
    author: str

    @property
    def message(self) -> int:
        return self.clauses[0].message

    @property
    def text(self) -> str:
        return " ".join(clause.text for clause in self.clauses)

    @property
    def sentences(self) -> str:
        return " ".join(dict.fromkeys(clause.sentence for clause in self.clauses))

    @property
    def asks(self) -> bool:
        return any(
            (clause.closes or words(clause.text)[0].lower in lexicon.INVERTED)
            and clause.sentence.rstrip(" \"')*").endswith("?")
            for clause in self.clauses
        )

    def holds(self, other: Run) -> bool:
        """Whether all clauses of another run are among these."""
        return other.message == self.message and all(each in self.clauses for each in other.clauses)


@functools.lru_cache(maxsize=4_000)
def clauses(text: str, message: int = 0) -> tuple[Clause, ...]:
    """A text's clauses in order.

    Example:
        >>> [clause.text for clause in clauses("It broke, so we stopped. Nobody knew.")]
        ['It broke,', 'so we stopped.', 'Nobody knew.']
    """
    found = []
    for sentence in sentences(text):
        parts = [
            part.strip() for part in lexicon.CLAUSE_END.split(sentence) if part and words(part)
        ]
        for index, part in enumerate(parts):
            found.append(Clause(part, sentence, message, index == len(parts) - 1))
    return tuple(found)


def sentences(text: str) -> list[str]:
    """A text's sentences; a dot inside a number or a name ends none.

    Example:
        >>> sentences("It takes 1.5 s in a.py. Good!")
        ['It takes 1.5 s in a.py.', 'Good!']
    """
    return [found.strip() for found in lexicon.SENTENCE.findall(text) if found.strip()]


def runs(clauses_of: Sequence[Clause], authors: Sequence[str]) -> Iterator[Run]:
    """All runs of neighbouring clauses of one message, short ones first."""
    for length in range(1, RUN_CLAUSES_MAX + 1):
        for start in range(len(clauses_of) - length + 1):
            run = clauses_of[start : start + length]
            if run[0].message == run[-1].message:
                yield Run(tuple(run), authors[run[0].message])


def inherits(clause: str) -> bool:
    """Whether a clause without a name in front goes on telling of the one before it.

    Example:
        >>> inherits("and stored them"), inherits("because the disk was full")
        (True, False)
    """
    heads = [word.lower for word in words(clause)[:2]]
    return not heads or not (
        heads[0] in lexicon.SUBORDINATE
        or heads[0] in lexicon.DETERMINERS
        or heads[-1] in lexicon.DETERMINERS
    )


def statement_clauses(text: str) -> list[str]:
    """A statement in the clauses that are checked one by one; a scrap joins the one before.

    Example:
        >>> statement_clauses("Ana sent files and folders, and Ben stored them on the server.")
        ['Ana sent files and folders,', 'and Ben stored them on the server.']
    """
    found: list[str] = []
    for clause in clauses(text):
        scrap = _size(clause.text) < 2 or (found and _size(found[-1]) < 2)
        if found and scrap:
            found[-1] += " " + clause.text
        else:
            found.append(clause.text)
    return found


def _size(text: str) -> int:
    return sum(map(_counts, words(text)))


def _counts(word: Word) -> bool:
    return bool(word.stem) and word.lower not in TELLING


# -- does the run say the same? --------------------------------------------------------


def difference(clause: str, run: Run, subject: str | None, aliases: dict[str, str]) -> str:
    """In what a clause differs from the run that holds its words, or "".

    subject: the speaker that it tells of, if it does. aliases: speakers by each lower-case
    name they go by.
    """
    return (
        _negation(clause, run)
        or _certainty(clause, run)
        or ("turned into its opposite" if opposite(clause, run.text) else "")
        or _amount(clause, run.text)
        or _joint(clause, run)
        or _person(clause, run, aliases)
        or (_subject(clause, run, subject, aliases) if subject else "")
        or _order(clause, run, subject, aliases)
        or _binding(clause, run.text)
    )


def _negation(clause: str, run: Run) -> str:
    """A not that appears or disappears turns a statement round."""
    said, told = lexicon.NEGATION.findall(run.text), lexicon.NEGATION.findall(clause)
    return "" if bool(said) == bool(told) else "negation differs from its source"


def _certainty(clause: str, run: Run) -> str:
    if lexicon.CONDITION.search(run.sentences) and not lexicon.CONDITION.search(clause):
        return "a condition is left out"
    wants = any(word.lower in WANTING for word in words(clause))
    asks = lexicon.ASKING.search(clause) or clause.rstrip().endswith("?")
    if run.asks and not asks and not (wants and lexicon.REQUEST.search(run.text)):
        return "a question told as a fact"
    if wants and not lexicon.AFTER.search(run.sentences):
        return "a wish not in its source"
    if bool(lexicon.DOUBT.search(run.text)) != bool(lexicon.DOUBT.search(clause)):
        return "certainty differs from its source"
    return ""


def opposite(text: str, other: str) -> bool:
    """Whether a text has a word in it of whose opposite the other text speaks instead.

    Example:
        >>> opposite("The cache is enabled.", "The cache is disabled.")
        True
    """
    told = {word.lower for word in words(text)}
    heard = {word.lower for word in words(other)}
    return any(
        told & one and not heard & one and heard & another
        for pair in lexicon.OPPOSITES
        for one, another in (pair, pair[::-1])
    )


def _amount(clause: str, said: str) -> str:
    told = {word.lower for word in words(clause)} & lexicon.AMOUNTS
    return "" if told <= {word.lower for word in words(said)} else "amount not in its source"


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


def _person(clause: str, run: Run, aliases: dict[str, str]) -> str:
    """A pronoun stands for somebody only where it stood in the source, or after a name."""
    heard = {lexicon.PRONOUNS.get(word.lower) for word in words(run.text)}
    named = False
    for word in words(clause):
        if word.name in aliases or (word.text[0].isupper() and word.lower not in lexicon.PRONOUNS):
            named = True
        who = lexicon.PRONOUNS.get(word.lower)
        if who is None or who in heard or who == "it" or (who == "he" and named):
            continue
        return "pronoun without its person"
    return ""


def _subject(clause: str, run: Run, subject: str, aliases: dict[str, str]) -> str:
    """What somebody says of himself may not be told of somebody else, nor the reverse."""
    wanted = [word for word in words(clause) if _counts(word) and word.name not in aliases]
    if not wanted:
        return ""
    heard = words(run.sentences)
    # Who said something is told by the log too, where it has the same verb.
    stems_heard = {stem(word.lower) or word.lower for word in heard}
    saying = [w for w in words(clause)[:4] if w.lower in SAYING and w.stem in stems_heard]
    verb = (saying or wanted)[0]
    places = [i for i, word in enumerate(heard) if word.stem and word.stem == verb.stem]
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
    mine = any(word.lower in lexicon.OWN for word in heard)
    if who == "own":
        theirs = re.search(r"\b(?:his|her|their)\b", clause, re.IGNORECASE)
        return own and bool(possessive or theirs)
    if possessive and own and not mine:
        return False
    telling = any(word.lower in SAYING and word.lower != form for word in words(clause)[:4])
    if who == subject:
        said = own or not telling or any(word.lower in SAYING for word in heard)
        return said and between <= BETWEEN_MAX
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
    for word in reversed(heard[:at]):
        if word.lower in lexicon.OWN:
            return "own", between
        who = lexicon.PRONOUNS.get(word.lower)
        if who == "i":
            return author, between
        if word.name in aliases:
            return aliases[word.name], between
        if who is not None:
            return who, between
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
    names = [heard.index(each) for each in told if each in heard and each in speakers]
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


def _binding(clause: str, said: str) -> str:
    """Of several numbers each has to stay with its own thing."""
    if len(numbers(said)) < 2:
        return ""
    told, heard = words(clause), words(said)
    for index, word in enumerate(told):
        if not word.stem[:1].isdigit():
            continue
        after = next((w.stem for w in told[index + 1 :] if w.stem), "")
        before = next((w.stem for w in reversed(told[:index]) if w.stem), "")
        places = [i for i, each in enumerate(heard) if each.stem == word.stem]
        if places and not any(_stands_by(heard, at, before, after) for at in places):
            return "number of something else"
    return ""


def _stands_by(heard: Sequence[Word], at: int, before: str, after: str) -> bool:
    left = [word.stem for word in heard[:at] if word.stem][-3:]
    right = [word.stem for word in heard[at + 1 :] if word.stem][:3]
    return (not before and not after) or before in left or after in right
