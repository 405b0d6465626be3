"""A LangGraph checkpointer in a memory file: what a thread says is found by searches, too.

The state of a thread is kept as LangGraph wrote it, but for secrets. Each message of it is stored
once in the source of the thread, in the transaction of the checkpoint that has it first.

Tested in tests/integrations/test_langgraph_saver.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from treemem.errors import UsageError
from treemem.integrations.langgraph import plain, words
from treemem.integrations.state import State
from treemem.memory import Memory
from treemem.privacy.policy import Redact, Redaction

# The beginning of the ids of the sources with the words of threads.
SOURCE_PREFIX = "langgraph"
# Threads of which this process remembers what it has stored.
THREADS_MAX = 200
# Within the class, list is the method that lists checkpoints.
_Pending = list[PendingWrite]
_Said = tuple[str, BaseMessage]
_DELTA_COUNTERS: Final = "counters_since_delta_snapshot"


class _Place(NamedTuple):
    """A thread and the namespace of a graph in it; "" is the outermost graph."""

    thread: str
    namespace: str

    @classmethod
    def of(cls, config: RunnableConfig) -> _Place:
        configurable = config["configurable"]
        return cls(str(configurable["thread_id"]), configurable.get("checkpoint_ns", "") or "")

    @property
    def name(self) -> str:
        return json.dumps(self)

    def of_writes(self, checkpoint_id: str) -> str:
        return json.dumps([*self, checkpoint_id])

    def config(self, checkpoint_id: str) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": self.namespace,
                                 "checkpoint_id": checkpoint_id}}  # fmt: skip


class TreememSaver(BaseCheckpointSaver[int]):
    """Keeps the checkpoints of threads in a memory.

    memory: an open memory, which must outlive the checkpointer. project: the folder or name to
    which the sources of threads belong. redact: as in Memory.append; a graph that goes on in
    another process finds markers in place of secrets. serde: LangGraph's serializer; with one that
    encrypts, or that pickles, nothing can be redacted in the state.

    The messages in the state of the outermost graph are stored in the source
    "langgraph/THREAD": a HumanMessage without a name as typed by the user, all others as what
    they are. Deleting a thread deletes its state; what was said stays in the memory.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        project: str | None = None,
        redact: Redact = True,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._memory = memory
        self._project = project
        self._redact = redact
        self._checkpoints = State(memory, "langgraph.checkpoint", redact)
        self._channels = State(memory, "langgraph.channel", redact)
        self._writes = State(memory, "langgraph.write", redact)
        self._said: dict[str, set[str]] = {}  # fingerprints of messages, by thread

    # -- reading -------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the latest one of its thread; None without one."""
        place = _Place.of(config)
        with self._checkpoints.reading():
            checkpoint_id = get_checkpoint_id(config)
            if checkpoint_id is None:
                checkpoint_id = max(self._checkpoints.keys(place.name), default=None)
            return None if checkpoint_id is None else self._read(place, checkpoint_id)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all without a config, each thread's latest first.

        filter: what their metadata must have. before: a config with the id of a later checkpoint.
        """
        end = None if before is None else get_checkpoint_id(before)
        only = None if config is None else get_checkpoint_id(config)
        count = 0
        for place in self._places(config):
            for checkpoint_id in reversed(self._checkpoints.keys(place.name)):
                if limit is not None and count >= limit:
                    return
                if only not in (None, checkpoint_id) or (end and checkpoint_id >= end):
                    continue
                with self._checkpoints.reading():
                    found = self._read(place, checkpoint_id)
                if found is None or any(
                    found.metadata.get(name) != value for name, value in (filter or {}).items()
                ):
                    continue
                count += 1
                yield found

    def _places(self, config: RunnableConfig | None) -> Sequence[_Place]:
        """The thread and namespaces that a config names; all without one."""
        if config is None:
            return self._all_places()
        of_thread = self._all_places(str(config["configurable"]["thread_id"]))
        namespace = config["configurable"].get("checkpoint_ns")
        return [one for one in of_thread if namespace in (None, one.namespace)]

    def _all_places(self, thread: str | None = None) -> Sequence[_Place]:
        start = "" if thread is None else f"[{json.dumps(thread)}, "
        return [_Place(*json.loads(name)) for name in self._checkpoints.places(start)]

    def _read(self, place: _Place, checkpoint_id: str) -> CheckpointTuple | None:
        kept = self._checkpoints.get(place.name, checkpoint_id)
        if kept is None:
            return None
        checkpoint: Checkpoint = self._loaded(kept.value["checkpoint"])
        values: dict[str, Any] = {}
        for channel, version in checkpoint["channel_versions"].items():
            stored = self._channels.get(place.name, json.dumps([channel, version]))
            if stored is not None and stored.value is not None:
                values[channel] = self._loaded(stored.value)
        checkpoint["channel_values"] = values
        parent = kept.value["parent"]
        return CheckpointTuple(
            place.config(checkpoint_id),
            checkpoint,
            self._loaded(kept.value["metadata"]),
            None if parent is None else place.config(parent),
            self._pending(place, checkpoint_id),
        )

    def _pending(self, place: _Place, checkpoint_id: str) -> _Pending:
        rows = []
        for kept in self._writes.of_place(place.of_writes(checkpoint_id)):
            task, index = json.loads(kept.key)
            path, channel, value = kept.value
            rows.append((writes_sort_key(path, task, index), task, channel, value))
        rows.sort(key=lambda row: row[0])
        return [(task, channel, self._loaded(value)) for _, task, channel, value in rows]

    # -- writing -------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint and the messages that are new in it, and returns its config."""
        place = _Place.of(config)
        bare: dict[str, Any] = {**checkpoint}
        values = bare.pop("channel_values", {})
        redaction = self._checkpoints.redaction()
        value = {
            "checkpoint": self._dumped(bare),
            "metadata": self._dumped(get_checkpoint_metadata(config, metadata)),
            "parent": get_checkpoint_id(config),
        }
        channels = {
            json.dumps([name, version]): self._dumped(values[name]) if name in values else None
            for name, version in new_versions.items()
        }
        new = self._new(place, get_checkpoint_id(config), values, metadata, new_versions)
        names = words.tool_names(one for _, one in words.messages_in(values.values()))
        with self._checkpoints.transaction():
            for key, dumped in channels.items():
                self._channels.put(place.name, key, dumped, redaction=redaction)
            self._checkpoints.put(place.name, checkpoint["id"], value, redaction=redaction)
            self._append(place.thread, new.values(), names)
        self._remember(place.thread, new)
        return place.config(checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Stores what a task has written since a checkpoint. What it wrote before is not replaced,
        but for errors and interrupts."""
        place = _Place.of(config)
        place_of_writes = place.of_writes(config["configurable"]["checkpoint_id"])
        redaction = self._writes.redaction()
        dumped = [
            (json.dumps([task_id, WRITES_IDX_MAP.get(channel, number)]),
             [task_path, channel, self._dumped(value)])
            for number, (channel, value) in enumerate(writes)
        ]  # fmt: skip
        with self._writes.transaction():
            before = set(self._writes.keys(place_of_writes))
            for key, value in dumped:
                if key not in before or value[1] in WRITES_IDX_MAP:
                    self._writes.put(place_of_writes, key, value, redaction=redaction)

    def _new(
        self, place: _Place, parent: str | None, values: Mapping[str, Any],
        metadata: CheckpointMetadata, versions: ChannelVersions,
    ) -> dict[str, _Said]:  # fmt: skip
        """The messages of changed channels that this process has not stored, by fingerprint."""
        if place.namespace:
            return {}
        changed = [values[name] for name in versions if name in values]
        counters = metadata.get(_DELTA_COUNTERS) or {}
        if counters and parent is not None:  # a delta channel has no value, but what was written
            changed += [value for _, name, value in self._pending(place, parent)
                        if name in counters]  # fmt: skip
        known = self._said.get(place.thread, set())
        said = {words.fingerprint(*one): one for one in words.messages_in(changed)}
        return {key: one for key, one in said.items() if key not in known}

    def _append(self, thread: str, new: Iterable[_Said], names: Mapping[str, str]) -> None:
        """Stores the words of messages, once each."""
        now = datetime.now(UTC)
        said = [words.to_message(*one, names, now) for one in new]
        messages = [one for one in said if one is not None]
        if messages:
            self._memory.append(
                source_of(thread), messages, project=self._project, redact=self._redact
            )

    def _remember(self, thread: str, new: Iterable[str]) -> None:
        if len(self._said) >= THREADS_MAX and thread not in self._said:
            self._said.clear()  # only saves work: a known message is stored once in any case
        self._said.setdefault(thread, set()).update(new)

    def _dumped(self, value: Any) -> dict[str, Any]:
        return plain.to_json(self.serde.dumps_typed(value))

    def _loaded(self, value: Mapping[str, Any]) -> Any:
        return self.serde.loads_typed(plain.from_json(value))

    # -- deleting and copying ------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Deletes the state of a thread. What was said in it stays in the memory."""
        with self._checkpoints.transaction():
            for place in self._all_places(str(thread_id)):
                self._delete(place, self._checkpoints.keys(place.name))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints that these runs made."""
        wanted = set(run_ids)
        with self._checkpoints.transaction():
            for place in self._all_places():
                made = [
                    kept.key
                    for kept in self._checkpoints.of_place(place.name)
                    if self._loaded(kept.value["metadata"]).get("run_id") in wanted
                ]
                self._delete(place, made)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints of a thread to another one. Nothing is said anew by that."""
        plain_copy = Redaction(b"", None, "copied")  # it was redacted when it was stored
        with self._checkpoints.transaction():
            for place in self._all_places(str(source_thread_id)):
                target = place._replace(thread=str(target_thread_id))
                for state in (self._checkpoints, self._channels):
                    for kept in state.of_place(place.name):
                        state.put(target.name, kept.key, kept.value, redaction=plain_copy)
                for checkpoint_id in self._checkpoints.keys(place.name):
                    for kept in self._writes.of_place(place.of_writes(checkpoint_id)):
                        self._writes.put(
                            target.of_writes(checkpoint_id), kept.key, kept.value,
                            redaction=plain_copy,
                        )  # fmt: skip

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Deletes the checkpoints of threads: all but the latest of each graph, or all with the
        strategy "delete". A graph with delta channels, whose latest state is made from earlier
        checkpoints, keeps all of them. Raises UsageError for another strategy."""
        if strategy not in ("keep_latest", "delete"):
            raise UsageError(f"A strategy is keep_latest or delete, not {strategy!r}.")
        with self._checkpoints.transaction():
            for thread in thread_ids:
                for place in self._all_places(str(thread)):
                    old = self._checkpoints.keys(place.name)
                    if strategy == "keep_latest":
                        latest = self._checkpoints.get(place.name, old.pop())
                        assert latest is not None
                        if self._loaded(latest.value["metadata"]).get(_DELTA_COUNTERS):
                            continue
                    self._delete(place, old)

    def _delete(self, place: _Place, checkpoint_ids: Sequence[str]) -> None:
        """Deletes checkpoints, their writes, and the values of channels that no other one has."""
        for checkpoint_id in checkpoint_ids:
            self._checkpoints.delete(place.name, checkpoint_id)
            self._writes.delete(place.of_writes(checkpoint_id))
        needed = {
            json.dumps([channel, version])
            for kept in self._checkpoints.of_place(place.name)
            for channel, version in self._loaded(kept.value["checkpoint"])[
                "channel_versions"
            ].items()
        }
        for key in set(self._channels.keys(place.name)) - needed:
            self._channels.delete(place.name, key)

    # -- the same, in a thread -----------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Like get_tuple, in a thread."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Like list; each step runs in a thread."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Like put, in a thread."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Like put_writes, in a thread."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Like delete_thread, in a thread."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Like delete_for_runs, in a thread."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Like copy_thread, in a thread."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Like prune, in a thread."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)


def source_of(thread: str) -> str:
    """The id of the source with what was said in a thread.

    Example:
        >>> source_of("support-17")
        'langgraph/support-17'
    """
    return f"{SOURCE_PREFIX}/{thread}"
