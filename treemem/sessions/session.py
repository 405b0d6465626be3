"""A live session: a conversation whose next context is made from what is stored.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treemem import times
from treemem.errors import Hint, NotFoundError, UsageError
from treemem.ingest.append import append_messages
from treemem.privacy.policy import Redact, Redaction
from treemem.search.query import Query
from treemem.sessions import outputs, pins, recollection, rendering
from treemem.sessions.budget import Budget
from treemem.sessions.compacting import blocks, folding, head, passes, past
from treemem.sessions.compacting.passes import Material
from treemem.sessions.counting import counter_of, tokens_of
from treemem.sessions.engine import Engine
from treemem.sessions.incoming import Incoming, listed, personal_turns
from treemem.sessions.state import State, Stateful, alone
from treemem.sessions.values import (
    Block,
    Compaction,
    Context,
    Fold,
    Folded,
    Output,
    PinChange,
    Pins,
    Rung,
)
from treemem.sessions.window import Attachment, ShownTurn
from treemem.store import messages as message_store
from treemem.store.live import pins as pin_store
from treemem.store.live import sessions, turns
from treemem.store.live.pins import PinKind
from treemem.store.live.private import private_to_others
from treemem.store.live.sessions import Compacted
from treemem.types import Message, Scope, Source

if TYPE_CHECKING:
    from treemem.sessions.checkpoints import Checkpoint

# How often a model may fail in a row before a compaction no longer asks it.
FAILURES_MAX = 3
# How much a provider's count may differ from this one, and how much the last report weighs.
CORRECTION_MIN, CORRECTION_MAX, CORRECTION_WEIGHT = 0.5, 3.0, 0.5
# Tokens of what the memory finds for one request: those that are worth a search, and the most,
# also in a large window, where it stays until the next compaction.
MEMORY_MIN, MEMORY_MAX = 120, 1_500
GET_BACK = "catalog() lists the turns that are not shown; recall(ID) returns their messages."


class Session(Stateful):
    """A conversation that an assistant has now. Get one from Memory.session.

    Everything that is appended is stored at once, word for word. context() returns what to send to
    the model: it is compacted as the window fills, and begins with the same bytes from turn to
    turn. Several threads, and several processes, may use a session at the same time.
    """

    def __init__(self, engine: Engine, seq: int, budget: Budget, redact: Redact) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._database = engine.database
        self._budget = budget
        self._redact = redact
        self._state = State(sessions.by_seq(engine.database, seq))
        self._count = counter_of(self._state.row.tokenizer)
        self._last_tokens = 0
        self._notes: tuple[str, ...] = ()
        self._refresh()

    # -- what it is ----------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The id of the source with its messages."""
        return self._state.row.source_id

    @property
    def budget(self) -> Budget:
        """How its window is divided."""
        return self._budget

    @property
    @alone
    def turn_count(self) -> int:
        """How many turns were appended."""
        self._refresh()
        return self._state.count

    # -- turns ---------------------------------------------------------------------------

    @alone
    def append(
        self,
        messages: Mapping[str, Any] | Iterable[Any],
        *,
        sent_at: str | datetime | None = None,
        typed: bool = True,
    ) -> list[int]:
        """Stores messages as they were sent to or returned by a provider, and returns the positions
        of their turns.

        messages: of OpenAI's or Anthropic's shape, one or several, dicts or objects of an SDK; the
        session keeps the shape of its first one and converts the others. A system message at the
        beginning becomes the system prompt. sent_at: None means now. typed: False if a program may
        have written what it sends as the user's,
        which then never becomes a rule. Secrets are replaced by markers before anything is stored.
        Raises UsageError for a message that is neither, of which none is stored then.
        """
        given = listed(messages)
        redaction = Redaction.of(self._database, self._redact)
        now_ms = self._engine.clock()
        stamp = sent_at if sent_at is not None else times.from_ms(now_ms)
        self._refresh()
        while True:
            state = self._state
            seen = (state.count, state.row.shape)
            incoming = Incoming.of(given, state, redaction)
            said = [turn.message(stamp, typed) for turn in incoming.turns]
            tokens = [tokens_of(turn.turn, self._count) for turn in incoming.turns]
            with self._database.transaction():
                self._refresh_within()
                if seen == (state.count, state.row.shape):
                    return self._store(incoming, said, tokens, redaction)
            # Another process appended meanwhile: what these messages are depends on it.

    def _store(
        self, incoming: Incoming, said: Sequence[Message | None], tokens: Sequence[int],
        redaction: Redaction,
    ) -> list[int]:  # fmt: skip
        """Stores turns and their words, in the caller's transaction."""
        state, first = self._state, self._state.count
        ids = append_messages(
            self._database, self._engine.clock, Source(self.id, "api"),
            [message for message in said if message is not None], redaction,
        )  # fmt: skip
        seqs = message_store.seqs_by_id(self._database, ids)
        of_ids = iter(ids)
        told = [False] * len(tokens)
        if state.row.agent is not None:
            before = turns.is_last_request_personal(self._database, state.row.seq)
            told = personal_turns(incoming.turns, before)
        rows = [
            turn.row(
                first + number, size, None if message is None else seqs[next(of_ids)],
                is_told=told[number],
            )
            for number, (turn, message, size) in enumerate(
                zip(incoming.turns, said, tokens, strict=True)
            )
        ]  # fmt: skip
        turns.add(self._database, state.row.seq, rows)
        row = state.row._replace(shape=incoming.shape, used_at_ms=self._engine.clock())
        if incoming.system is not None:
            row = row._replace(system=incoming.system)
        sessions.update(self._database, row)
        return list(range(first, first + len(rows)))

    def messages(self, first: int = 0, end: int | None = None) -> list[dict[str, Any]]:
        """The messages of all turns, or of those from position first to end, exclusive, as they
        were appended."""
        with self._database.reading():
            rows = turns.between(self._database, self._state.row.seq, first, end)
        return [json.loads(row.content) for row in rows]

    # -- the context ---------------------------------------------------------------------

    @alone
    def context(self, query: str | None = None) -> Context:
        """Returns what to send to the model now, and compacts the window if it is nearly full.

        query: what to search the memory for; None derives it from the last turns, "" searches for
        nothing. What is found is shown with the last turn, and stays there until a compaction.
        Raises UsageError if the system prompt, the pins and the last turn do not fit the window.
        """
        if query is not None and not isinstance(query, str):
            raise UsageError(f"A query is a text or None, not {query!r}.")
        with self._database.transaction():
            self._refresh_within()
            self._begin()
            self._attach_pins()
        made = self.compact() if self._tokens() > self._budget.trigger else None
        self._attach_memory(query)
        context = rendering.context_of(
            self._state, self._budget, self._count, self._state.row.correction,
            compaction=made, notes=self._notes, get_back=GET_BACK,
        )  # fmt: skip
        self._last_tokens = round(context.tokens / self._state.row.correction)
        return context

    @alone
    def peek(self, query: str = "") -> Context:
        """Returns the context that is in force, and changes nothing: for reading, not for sending.

        Nothing is compacted, and what the memory finds for the query is shown with the last turn
        only here; "" searches for nothing. The notes say if the next context would be compacted.
        """
        self._refresh()
        state = replace(self._state, window=list(self._state.window))
        if not state.last.seq:
            with self._database.reading():
                state.last = self._beginning()
        elif (told := self._with_pins()) is not None:
            state.window[-1] = told
        found = self._recollected(query) if query else None
        notes = [] if found is None else list(found.missing)
        if found is not None and found.text:
            state.window[-1] = found.shown_with(state.window[-1], self._count)
        if query and self._attachable() is None:
            notes.append("Nothing was searched for: that is shown with a user's or tool's turn.")
        if state.tokens(self._count) * state.row.correction > self._budget.trigger:
            notes.append("The next context will be compacted: this one has no room to go on.")
        return rendering.context_of(
            state, self._budget, self._count, state.row.correction,
            compaction=None, notes=notes, get_back=GET_BACK,
        )  # fmt: skip

    @alone
    def report_usage(self, prompt_tokens: int) -> None:
        """Says how many tokens the provider counted for the last context, with its tools. Later
        contexts are measured accordingly. Raises UsageError."""
        if not isinstance(prompt_tokens, int) or prompt_tokens <= 0:
            raise UsageError(f"prompt_tokens is a positive number, not {prompt_tokens!r}.")
        if not self._last_tokens:
            raise UsageError("There is no context that this could be about: call context() first.")
        ratio = min(max(prompt_tokens / self._last_tokens, CORRECTION_MIN), CORRECTION_MAX)
        with self._database.transaction():
            self._refresh_within()
            before = self._state.row.correction
            corrected = before + CORRECTION_WEIGHT * (ratio - before)
            self._update(correction=corrected)

    def compact(self, *, soft: bool = False, model: bool = False) -> Compaction:
        """Compacts the window now, whether it is full or not.

        soft: leave no more than the last request, as after a long pause. model: first let the
        summarizer in use summarize what it has not yet; this may take minutes. After three failures
        in a row it is not asked any more, until a call succeeds by Memory.work.
        """
        return self._compacted(self._summarized() if model else [], soft=soft)

    @alone
    def _compacted(self, notes: Sequence[Rung], *, soft: bool) -> Compaction:
        if not soft:  # sealing and summarizing takes longer than what may be enough
            try:
                return self._compacted_as_it_is(notes)
            except passes.DigestNeededError:
                self._state = State(self._state.row)  # what was changed was rolled back
        self._engine.settle()
        with self._database.transaction():
            self._refresh_within()
            self._begin()
            return passes.compact(self._material(), notes=notes, soft=soft)

    def _compacted_as_it_is(self, notes: Sequence[Rung]) -> Compaction:
        """Trims and prunes the window. Raises DigestNeededError."""
        with self._database.transaction():
            self._refresh_within()
            self._begin()
            return passes.compact(self._material(), notes=notes, is_settled=False)

    @property
    @alone
    def last_compaction(self) -> Compaction | None:
        """The compaction that is in force; None if there was none."""
        self._refresh()
        return passes.reported(self._state.last)

    # -- pins ----------------------------------------------------------------------------

    @property
    @alone
    def pins(self) -> Pins:
        """What is pinned."""
        self._refresh()
        return self._state.pins

    @property
    @alone
    def pin_changes(self) -> list[PinChange]:
        """What was pinned and unpinned, in order."""
        self._refresh()
        return [
            PinChange(one.kind, one.text, one.is_pinned, times.from_ms(one.changed_at_ms) or "")
            for one in self._state.changes
        ]

    @alone
    def pin(
        self,
        *,
        goal: str | None = None,
        active_task: str | None = None,
        constraints: Iterable[str] = (),
    ) -> Pins:
        """Pins texts, which contexts then show word for word until they are unpinned, and returns
        what is pinned. A goal or a task replaces the one before. Raises UsageError if a text is
        too long, or all of them are."""
        texts: list[tuple[PinKind, str]] = []
        if goal is not None:
            texts.append(("goal", pins.checked("goal", goal)))
        if active_task is not None:
            texts.append(("task", pins.checked("task", active_task)))
        several = [constraints] if isinstance(constraints, str) else constraints
        texts += [("constraint", pins.checked("constraint", text)) for text in several]
        if not texts:
            raise UsageError("Nothing is given to pin: name a goal, an active_task or constraints.")
        redaction = Redaction.of(self._database, self._redact)
        with self._database.transaction():
            self._refresh_within()
            for kind, text in texts:
                self._change_pin(kind, redaction.text(text) or "", is_pinned=True)
            self._refresh_within()
            pins.check_size(self._state.pins, self._budget.share("pins"), self._count)
        return self._state.pins

    @alone
    def unpin(
        self, *, goal: bool = False, active_task: bool = False, constraints: Iterable[str] = ()
    ) -> Pins:
        """Ends pins, and returns what is left. constraints: word for word. Raises NotFoundError for
        what is not pinned."""
        several = [constraints] if isinstance(constraints, str) else list(constraints)
        texts: list[tuple[PinKind, str | None]] = [("constraint", text) for text in several]
        with self._database.transaction():
            self._refresh_within()
            now = self._state.pins
            if goal:
                texts.append(("goal", now.goal))
            if active_task:
                texts.append(("task", now.active_task))
            for kind, text in texts:
                if text is None or (kind == "constraint" and text not in now.constraints):
                    raise NotFoundError(
                        f"No {kind} {'' if text is None else repr(text[:80]) + ' '}is pinned.",
                        hint=Hint.see("session.pins", f"treemem session show {self.id}"),
                    )
                self._change_pin(kind, text, is_pinned=False)
            self._refresh_within()
        return self._state.pins

    @alone
    def runtime_lines(self) -> list[str]:
        """What is pinned, and the user's rules that hold, as lines for a prompt of your own."""
        self._refresh()
        room = self._budget.share("rules")
        with self._database.reading():
            rules = head.rule_lines(self._database, self._state.row, room, self._count)
        return [*pins.lines(self._state.pins), *([head.RULES_TITLE, *rules] if rules else [])]

    # -- what is not shown ---------------------------------------------------------------

    @alone
    def catalog(self) -> list[Block]:
        """The blocks of the session, in order: each a request with what came of it."""
        with self._database.reading():
            self._refresh_within()
            state = self._state
            return blocks.blocks_of(self._database, state.row.seq, state.count, state.last.boundary)

    def recall(self, block_id: str) -> list[dict[str, Any]]:
        """Returns the messages of a block word for word, by its id, or of several, by those of the
        first and the last, such as "b0-b64". Raises UsageError, NotFoundError."""
        block = blocks.named(block_id, self.catalog(), self.id)
        return self.messages(block.first, block.end)

    @alone
    def promote(self, block_id: str) -> None:
        """Shows a block again, word for word, with the last turn until the next compaction. Raises
        UsageError if it does not fit, or nothing was appended yet, and NotFoundError."""
        block = blocks.named(block_id, self.catalog(), self.id)
        with self._database.reading():
            rows = turns.between(self._database, self._state.row.seq, block.first, block.end)
        text = rendering.transcript(block, rows, self._state.shape)
        tokens = self._count(text)
        if tokens > self._limit(self._budget.trigger) - self._tokens_here():
            raise UsageError(
                f"Block {block_id} has {tokens:,} tokens, for which this window has no room now. "
                f"Read it with recall({block_id!r})."
            )
        with self._database.transaction():
            self._refresh_within()
            last = self._attachable()
            if last is None:
                raise UsageError("A block is shown with the user's next message: append it first.")
            shown = last.showing([*last.attached, Attachment("block", text, tokens)])
            self._state.put(self._database, [shown])

    def read(self, handle: str, offset: int = 0, limit: int = outputs.CHARS) -> Output:
        """Returns a part of a long text that contexts show in part, by the handle that they show,
        such as "h12.0". offset, limit: in characters. Raises UsageError, NotFoundError."""
        return outputs.read(self._database, self._state, handle, offset, limit)

    def follow(self, path: str, offset: int = 0, limit: int = outputs.CHARS) -> Output:
        """Returns what a job has written to a file since an offset, in bytes, and says if it seems
        to have stalled. Raises UsageError if the file cannot be read."""
        return outputs.follow(path, offset, limit)

    # -- sub-tasks -----------------------------------------------------------------------

    @alone
    def fold(self, title: str, *, since: str | None = None) -> Fold:
        """Ends a sub-task: contexts show what came of it in place of its turns.

        title: what it was. since: the id of its first block; None for the turns since the active
        task was pinned, or since the last fold. The turns stay in recall and search. Raises
        UsageError if there are none.
        """
        self._engine.settle()
        with self._database.transaction():
            self._refresh_within()
            self._begin()
            fold = folding.fold(
                self._database, self._state, pins.checked("task", title), since,
                self._engine.clock(),
            )  # fmt: skip
        self._refresh()
        return fold

    @property
    def folds(self) -> list[Folded]:
        """The sub-tasks that were folded, in order."""
        with self._database.reading():
            return folding.folded(self._database, self._state.row.seq)

    # -- checkpoints ---------------------------------------------------------------------

    def checkpoint(
        self, *, files: Iterable[str | Path] = (), keep_days: float | None = None
    ) -> Checkpoint:
        """Records the state of the session, and of the files that its turns refer to.

        files: further ones. keep_days: after which it is deleted; None means 90. Memory.resume
        goes on from it. Raises UsageError.
        """
        from treemem.sessions import checkpoints

        return checkpoints.add(self._engine, self.id, files, keep_days)

    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints that have not expired, the latest first."""
        from treemem.sessions import checkpoints

        return checkpoints.of_session(self._engine, self.id)

    # -- parts ---------------------------------------------------------------------------

    def _refresh(self) -> None:
        with self._database.reading():
            self._refresh_within()

    def _refresh_within(self) -> None:
        self._state.refresh(self._database)

    def _update(self, **fields: Any) -> None:
        self._state.row = self._state.row._replace(**fields)
        sessions.update(self._database, self._state.row)

    def _change_pin(self, kind: PinKind, text: str, *, is_pinned: bool) -> None:
        pin_store.add_change(
            self._database, self._state.row.seq, kind, text, is_pinned=is_pinned,
            turns=self._state.count, now_ms=self._engine.clock(),
        )  # fmt: skip

    def _limit(self, tokens: int) -> int:
        return int(tokens / self._state.row.correction)

    def _tokens_here(self) -> int:
        return self._state.tokens(self._count)

    def _tokens(self) -> int:
        return int(self._tokens_here() * self._state.row.correction)

    def _material(self) -> Material:
        return Material(
            self._database, self._state, self._budget, self._count, self._engine.shape.fanout,
            self._engine.clock(), self._state.row.correction,
        )  # fmt: skip

    def _begin(self) -> None:
        """Stores what the first context begins with."""
        state = self._state
        if state.last.seq:
            return
        made = self._beginning()
        state.last = made._replace(seq=sessions.add_compaction(self._database, state.row.seq, made))
        if state.changes:
            self._update(told_seq=state.changes[-1].seq)

    def _beginning(self) -> Compacted:
        """What a first context begins with: what is pinned, the user's rules, and what is open in
        the project."""
        state = self._state
        text = head.compose(
            self._database, state, self._limit(self._budget.share("rules")), self._count
        )
        rooms = {"past": 0, "catalog": 0, "open": self._limit(self._budget.share("open"))}
        others = past.compose(
            self._database, state.row, self._engine.shape.fanout, 0, (), rooms, self._count
        )
        return Compacted(0, 0, 0, text, others.text, "{}", self._engine.clock())

    def _attachable(self) -> ShownTurn | None:
        """The last turn, if texts can be shown with it: not an assistant's."""
        last = self._state.window[-1] if self._state.window else None
        return last if last is not None and last.turn.role in ("user", "tool") else None

    def _attach_pins(self) -> None:
        """Shows changes of pins with the last turn."""
        if (told := self._with_pins()) is not None:
            self._state.put(self._database, [told])
            self._update(told_seq=self._state.untold[-1].seq)

    def _with_pins(self) -> ShownTurn | None:
        """The last turn with the changes of pins that no context has shown; None without any."""
        last, untold = self._attachable(), self._state.untold
        if last is None or not untold:
            return None
        text = "\n".join(pins.change_lines(untold))
        return last.showing([*last.attached, Attachment("pins", text, self._count(text))])

    def _attach_memory(self, query: str | None) -> None:
        """Shows what the memory knows about the last request with it."""
        found = self._recollected(query)
        self._notes = () if found is None else found.missing
        if found is None or not found.text:
            return
        with self._database.transaction():
            self._refresh_within()
            last = self._attachable()
            if last is not None:
                self._state.put(self._database, [found.shown_with(last, self._count)])

    def _recollected(self, query: str | None) -> recollection.Recollection | None:
        """What the memory knows about the last request; None if it was not asked."""
        state = self._state
        last = self._attachable()
        if query == "" or last is None:
            return None
        if query is None and (not last.is_request or any(
            one.kind == "memory" for one in last.attached
        )):  # fmt: skip
            return None
        text = query or recollection.query_of(state.window, state.pins)
        budget = min(
            MEMORY_MAX,
            self._limit(self._budget.share("memory")),
            self._limit(self._budget.room) - self._tokens_here(),
        )
        if budget < MEMORY_MIN or not text:
            return None
        shown = {turn.message_seq for turn in state.window if turn.message_seq is not None}
        found_before = {
            message_id for turn in state.window if turn.position != last.position
            for one in turn.attached for message_id in one.message_ids
        }  # fmt: skip
        with self._database.reading():
            shown |= set(message_store.seqs_by_id(self._database, sorted(found_before)).values())
        request = Query(
            text, Scope.everything(), times.local(self._engine.clock()), budget,
            tuning={"standing": 0.0}, project=state.row.project, hidden=frozenset(shown),
            private=private_to_others(self._database, state.row.agent),
        )  # fmt: skip
        return recollection.recollect(
            self._database, request, self._engine.embedder(), self._engine.embed
        )

    def _summarized(self) -> list[Rung]:
        """Lets the summarizer in use summarize what it has not yet; says so if it is not asked.
        Other threads go on meanwhile."""
        with self._lock:
            self._refresh()
            tokens = self._tokens()
            is_given_up = self._state.row.failures >= FAILURES_MAX
        if is_given_up:
            return [
                Rung("model", tokens, note=f"not asked, after {FAILURES_MAX} failures in a row")
            ]
        note, failed = self._engine.summarize()
        with self._lock, self._database.transaction():
            self._refresh_within()
            self._update(failures=self._state.row.failures + 1 if failed else 0)
        return [Rung("model", tokens, note=note)]
