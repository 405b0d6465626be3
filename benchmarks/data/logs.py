"""Generates session logs of any size from a seed: Claude Code's JSON Lines.

Words are made of English stems and endings and drawn by Zipf's law, with numbers, paths,
identifiers, hashes and code between them, so that the tokenizer and the full-text index get about
the same input as from real logs.

Example:
    >>> [len(text) for text in Writer(seed=1).lines(2)] == [
    ...     len(text) for text in Writer(seed=1).lines(2)]
    True
"""

from __future__ import annotations

import copy
import itertools
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import orjson

MESSAGE_CHARS_MIN = 50
MESSAGE_CHARS_MAX = 4_000
VOCABULARY_WORDS_MAX = 30_000
ZIPF_EXPONENT = 1.15
# Mandelbrot's constant, which flattens the curve for the most frequent words.
ZIPF_SHIFT = 2.7
WORDS_DRAWN_AT_ONCE = 4_096
TOOL_TURN_SHARE = 0.4
_BEGAN = datetime(2026, 1, 5, 8, tzinfo=UTC)

_COMMON = """
the to of and a in is it that for on we this with be not as are was but you if from have i can
at or by so an will has there do what when they use all which one would just now then only than
its no must still should more been after into also because need out before them about new could
first does never any how where their up same each over like some here two run let's decided
instead always until again already add keep change between both works fails breaks next yet did
make see think were other most too very well done open wait ask said every without don't
""".split()
_STEMS = """
account act adapt add align alloc amount apply archive assert assign attach audit balance bind
block board book branch bridge buffer build bundle cache call cancel capture check claim class
clean client clone close cluster code collect column commit compare compile compress compute
config connect context convert copy count cover crash create cursor customer daemon debug decode
delay delete deliver depend deploy design detect digest direct discard dispatch document domain
drain drop edit embed emit enable encode engine enter escape event exact expand expect expire
export extend extract factor fail fetch field filter find finish fix flag flush fold follow force
fork form frame generate grant graph group grow guard handle hash header heap hold host import
index infer inject input insert inspect install invoke issue item iterate job join journal kernel
label launch layer lease length level limit link list load local lock log loop manage map mark
match measure member memory merge message method migrate mirror mock model module monitor mount
move name need network node note notify number object observe offset open operate option order
origin output override own pack page pair parse partition patch path pattern pause perform permit
pin pipe plan play plug point policy pool port post predict prefer prepare present print process
produce profile project promote protect provide proxy publish pull push query queue quote raise
range rank read rebase receive record recover reduce refer refresh region register reject release
remote remove rename render repair repeat replace reply report request require reserve reset
resolve respond restore result retry return revert review revise rewrite role roll rotate round
route row run sample save scale scan schedule schema scope score script search seal select send
separate serve session set shard share shift ship show sign signal simulate size skip slice
snapshot solve sort source span split stage start state status step stop store stream string
submit subscribe suggest summary support suspend switch sync table tag target task tenant term
test thread throttle ticket time token tool trace track train transfer transform translate tree
trigger trim trust tune type undo unit update upload user validate value vector verify version
view visit wait walk warn watch weight window work worker wrap write yield zone
""".split()
_ENDINGS = """
- s ed ing er able ment ation ion less ful ly ness or ers ings ability al ive ize ized
""".split()
_BEGINNINGS = "- re un pre over sub multi auto non inter".split()


def _vocabulary(rng: random.Random) -> list[str]:
    """Common words, then stems, then stems with beginnings and endings."""
    words = [
        (beginning + stem + ending).replace("-", "")
        for beginning, ending, stem in itertools.product(_BEGINNINGS, _ENDINGS, _STEMS)
    ]
    plain, derived = words[: len(_STEMS)], words[len(_STEMS) :]
    rng.shuffle(plain)
    rng.shuffle(derived)
    return list(dict.fromkeys([*_COMMON, *plain, *derived]))[:VOCABULARY_WORDS_MAX]


class Writer:
    """Writes the records of one session; the same seed gives the same bytes."""

    def __init__(self, seed: int) -> None:
        self._began, self._folder = _BEGAN, "/home/user/project"
        self._rng = random.Random(seed)
        self._words = _vocabulary(self._rng)
        shares = ((rank + ZIPF_SHIFT) ** -ZIPF_EXPONENT for rank in range(len(self._words)))
        self._weights = list(itertools.accumulate(shares))
        self._drawn: list[str] = []
        self._turns = 0
        self._parent: str | None = None
        self.session = self._uuid()

    @classmethod
    def after(cls, record: dict[str, Any]) -> Writer:
        """A writer whose records go on after this last one of a log."""
        writer = cls(uuid.UUID(record["uuid"]).int)
        writer.session, writer._parent = record["sessionId"], record["uuid"]
        writer._turns = 10**6  # more than the log has, so that the ids of answers are new
        return writer

    def another(self, seed: int, began: datetime, folder: str) -> Self:
        """Writes another session in the same words, which was begun then and in this folder."""
        writer = copy.copy(self)
        writer._rng, writer._drawn = random.Random(seed), []
        writer._turns, writer._parent = 0, None
        writer._began, writer._folder = began, folder
        writer.session = writer._uuid()
        return writer

    def append_to(self, path: Path, size_bytes: int) -> None:
        """Appends records to a file until it has at least size_bytes."""
        with path.open("ab") as stream:
            for line in self._endless():
                if stream.tell() >= size_bytes:
                    return
                stream.write(line)

    def lines(self, count: int) -> list[bytes]:
        """The next records, as lines of the file."""
        return list(itertools.islice(self._endless(), count))

    # -- records -----------------------------------------------------------------------

    def _endless(self) -> Iterator[bytes]:
        while True:
            yield self.record("user", self.prose())
            while self._rng.random() < TOOL_TURN_SHARE:
                yield from self._tool_turn()
            yield self.record("assistant", [{"type": "text", "text": self.prose()}])

    def _tool_turn(self) -> Iterator[bytes]:
        use_id = f"toolu_{self._rng.getrandbits(96):024x}"
        command = {"command": f"grep -rn {self.identifier()} {self.path()}"}
        use = {"type": "tool_use", "id": use_id, "name": "Bash", "input": command}
        yield self.record("assistant", [{"type": "text", "text": self.sentence()}, use])
        answer = {"type": "tool_result", "tool_use_id": use_id, "content": self.code()}
        yield self.record("user", [answer])

    def record(self, role: str, content: object) -> bytes:
        self._turns += 1
        own, parent = self._uuid(), self._parent
        self._parent = own
        message: dict[str, object] = {"role": role, "content": content}
        if role == "assistant":
            message = {"id": f"msg_{self._turns:012d}", "model": "made-up", **message}
        sent_at = (self._began + timedelta(seconds=20 * self._turns)).isoformat()
        record = {
            "parentUuid": parent, "isSidechain": False, "userType": "external",
            "cwd": self._folder, "sessionId": self.session, "version": "2.0.0",
            "type": role, "message": message, "uuid": own, "timestamp": sent_at,
        }  # fmt: skip
        return orjson.dumps(record) + b"\n"

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    # -- words -------------------------------------------------------------------------

    def prose(self) -> str:
        """Some sentences; their length is spread evenly on a logarithmic scale."""
        return self._filled(self.sentence, " ")

    def code(self) -> str:
        """Some lines of code, of the same lengths."""
        return self._filled(self.code_line, "\n")

    def _filled(self, piece: Callable[[], str], separator: str) -> str:
        span = MESSAGE_CHARS_MAX / MESSAGE_CHARS_MIN
        wanted = int(MESSAGE_CHARS_MIN * span ** self._rng.random())
        chars, pieces = 0, []
        while chars < wanted:
            pieces.append(piece())
            chars += len(pieces[-1]) + len(separator)
        return separator.join(pieces)[: max(wanted, MESSAGE_CHARS_MIN)].rstrip()

    def sentence(self) -> str:
        words = self._draw(self._rng.randrange(4, 19))
        if self._rng.random() < 0.3:
            words[-1] = self._special()
        text = " ".join(words)
        return f"{text[0].upper()}{text[1:]}{self._rng.choice('.....?,')}"

    def _special(self) -> str:
        kinds = (self.identifier, self.path, self._number, self._hash)
        return self._rng.choice(kinds)()

    def code_line(self) -> str:
        indent = "    " * self._rng.randrange(4)
        shape = self._rng.randrange(4)
        if shape == 0:
            return f"{self.path()}:{self._number()}:{indent}def {self.identifier()}(self):"
        if shape == 1:
            return f"{indent}{self.identifier()} = {self.identifier()}({self._number()})"
        if shape == 2:
            return f"{indent}# {' '.join(self._draw(7))}"
        return f"{indent}return {self.identifier()}[{self.identifier()!r}]"

    def identifier(self) -> str:
        return "_".join(self._draw(2))

    def path(self) -> str:
        return f"src/{'/'.join(self._draw(2))}.py"

    def _number(self) -> str:
        return str(int(10 ** (6 * self._rng.random())))

    def _hash(self) -> str:
        return f"{self._rng.getrandbits(40):010x}"

    def _draw(self, count: int) -> list[str]:
        if len(self._drawn) < count:
            self._drawn = self._rng.choices(
                self._words, cum_weights=self._weights, k=WORDS_DRAWN_AT_ONCE
            )
        taken = self._drawn[-count:]
        del self._drawn[-count:]
        return taken
