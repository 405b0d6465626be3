"""Finds the speakers that a text names, and whom each of its words is about.

Pure. Tested in tests/verify/test_people.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treemem.types import ROLES
from treemem.verify import lexicon
from treemem.verify.words import Word, split_words

# Whom a word of a message is about: its author; its author, to whom somebody else does something;
# somebody of the author's; whom it addresses; another person; or a speaker by name. "" if no
# person comes before the word.
Who = Literal["", "author", "me", "kin", "you", "other"] | tuple[str]

_AUTHOR = frozenset("i i'm i've i'll i'd we we're we've we'll we'd".split())
# To these somebody does something: "Clara gave me a bowl".
_AUTHOR_AS_OBJECT = frozenset("me myself us ourselves mine".split())
_OTHER_UNLESS_OBJECT = frozenset("him his her hers himself herself them their".split())
_OWN = frozenset("my our".split())
_YOU = frozenset("you you're you've you'll you'd your yours yourself yourselves".split())
_OTHER = frozenset(
    "he he's he'd he'll she she's she'd she'll they they're they've they'd they'll".split()
)
# People of somebody's, who do things of their own.
KIN = frozenset(
    "husband wife partner boyfriend girlfriend brother sister mother father mum mom dad son "
    "daughter kid kids child children friend friends boss colleague colleagues grandma grandpa "
    "grandmother grandfather aunt uncle cousin niece nephew family parents neighbour neighbor "
    "teacher doctor landlord dog cat sons daughters brothers sisters team manager coach "
    "youngest oldest eldest mentor mentee client clients".split()
)
_BEFORE_OBJECTS = frozenset(
    "of with to for from in on at about than like into over under against between without "
    "toward towards near beside".split()
)
# A clause that begins with one of these may have its subject later: "On Monday Ana left".
FRONTED = _BEFORE_OBJECTS | frozenset(
    "and but so or while because then since until unless before after although though if when "
    "where which that who whom whose during by today yesterday now later also therefore thus "
    "however still only first finally recently currently both once there here what how why "
    "whether even just according despite besides meanwhile going as".split()
)
# The shortest short form of a name, in characters: "Mel" for "Melanie".
_SHORT_MIN = 3


@dataclass(frozen=True)
class People:
    """The speakers of some messages. by_word: by the lower-case words of their names."""

    by_word: dict[str, str]
    firsts: dict[str, str]

    @classmethod
    def of(cls, speakers: Sequence[str]) -> People:
        """Reads names; a word that two of them share means neither."""
        named: dict[str, set[str]] = {}
        for speaker in dict.fromkeys(speakers):
            for word in split_words(speaker):
                named.setdefault(word.lower, set()).add(speaker)
        by_word = {word: min(names) for word, names in named.items() if len(names) == 1}
        return cls(by_word, {w: s for w, s in by_word.items() if len(w) > _SHORT_MIN})

    def named(self, word: Word) -> str | None:
        """The speaker that a word names; None for another word."""
        name = word.name.rstrip("'’")
        speaker = self.by_word.get(name)
        if speaker is not None:
            return speaker if word.text[0].isupper() or speaker in ROLES else None
        if word.text[0].isupper() and len(name) >= _SHORT_MIN and name not in lexicon.PRONOUNS:
            full = {s for first, s in self.firsts.items() if first.startswith(name)}
            if len(full) == 1 and name not in FRONTED:
                return min(full)
        return None

    def mentioned(self, text: str) -> list[str]:
        """The speakers that a text names, in order."""
        found = (self.named(word) for word in split_words(text))
        return list(dict.fromkeys(speaker for speaker in found if speaker))

    def subjects(self, clause: str) -> tuple[tuple[str, ...], bool]:
        """The speakers that a clause of a note is about, and whether it is about something of
        theirs: "Ana and Ben" in "On Monday Ana and Ben left", Ana in "Ana's brother left"."""
        words = split_words(clause)
        for at, word in enumerate(words):
            speaker = self.named(word)
            if speaker is None:
                continue
            before = words[at - 1].lower if at else ""
            if before in _BEFORE_OBJECTS:
                continue
            leads = all(w.lower in lexicon.DETERMINERS or self.named(w) for w in words[:at])
            fronted = bool(words) and words[0].lower in FRONTED
            if before != "by" and not leads and not fronted:
                continue
            return self._joined(words, at, speaker), _owns(word)
        return (), False

    def _joined(self, words: Sequence[Word], at: int, speaker: str) -> tuple[str, ...]:
        found = [speaker]
        skipped = 0
        for word in words[at + 1 :]:
            other = self.named(word)
            if other is not None:
                found.append(other)
                skipped = 0
            elif word.lower in ("and", "the") and skipped < 2:
                skipped += 1
            else:
                break
        return tuple(dict.fromkeys(found))


def _owns(word: Word) -> bool:
    return word.text.replace("’", "'").endswith(("'s", "s'"))


def whom(text: str, people: People) -> list[Who]:
    """For every word of a text, the nearest person before it.

    Example:
        >>> whom("I know that you sail", People.of(["Ana"]))
        ['author', 'author', 'author', 'you', 'you']
    """
    who: Who = ""
    result: list[Who] = []
    words = split_words(text)
    for at, word in enumerate(words):
        lower = word.lower.replace("’", "'")
        before = words[at - 1].lower if at else ""
        speaker = people.named(word)
        if speaker is not None:
            who = (speaker,)
        elif lower in _AUTHOR:
            who = "author"
        elif lower in _YOU:
            who = "you"
        elif lower in _OTHER:
            who = "other"
        elif lower in _AUTHOR_AS_OBJECT:
            who = who if who == "author" else "me"
        elif who and before not in lexicon.OPENING:
            pass
        elif lower in _OTHER_UNLESS_OBJECT:
            who = "other"
        elif lower in _OWN:
            # "My brother left" is about him, "I met my brother" is not.
            who = "kin" if any(w.lower in KIN for w in words[at + 1 : at + 4]) else "author"
        result.append(who)
    return result
