"""The durable queue: one table, in the same file and transaction as what causes a job.

    admit          claim             finish
  ----------> todo -----> running ------------> done
               ^            | fail, lease run out
               +------------+----------------> dead   (after max_attempts)

It owns how a job is admitted once, held under a lease, and never lost; it knows nothing of
what a job does. Times are milliseconds since 1970 UTC, given by the caller.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from treemem import times
from treemem.errors import LeaseLostError, NotFoundError, UsageError
from treemem.store.database import Database, Row
from treemem.types import Job

LEASE_MS = 60_000
ATTEMPTS_MAX = 5
BACKOFF_FIRST_MS = 5_000
BACKOFF_MAX_MS = 3_600_000
BREAKER_FAILURES = 3
BREAKER_PAUSE_MS = 600_000
DONE_KEPT = 1_000
ERROR_CHARS_MAX = 500


@dataclass(frozen=True, slots=True)
class Claim:
    """A job in hand: what to do, and the token that proves the lease."""

    seq: int
    kind: str
    payload: dict[str, Any]
    attempts: int
    token: str


# -> todo
_ADMIT = """
INSERT INTO job (kind, dedupe_key, payload, priority, state, max_attempts, not_before_ms,
  created_at_ms)
VALUES (:kind, :key, :payload, :priority, 'todo', :max_attempts, :not_before, :now)
ON CONFLICT (dedupe_key) WHERE state = 'todo' DO UPDATE
  SET not_before_ms = min(not_before_ms, excluded.not_before_ms),
      priority = max(priority, excluded.priority)
"""


def admit(
    database: Database,
    kind: str,
    key: str,
    payload: dict[str, Any],
    now_ms: int,
    *,
    priority: int = 0,
    not_before_ms: int | None = None,
    max_attempts: int = ATTEMPTS_MAX,
) -> None:
    """Puts a job in the queue unless the same one waits there already, in the caller's
    transaction; a waiting one is at most hastened."""
    parameters = {
        "kind": kind, "key": f"{kind}:{key}", "payload": orjson.dumps(payload).decode(),
        "priority": priority, "max_attempts": max_attempts, "now": now_ms,
        "not_before": now_ms if not_before_ms is None else not_before_ms,
    }  # fmt: skip
    database.execute(_ADMIT, parameters)


_RUNNING = "SELECT 1 FROM job WHERE dedupe_key = ? AND state = 'running'"


def is_running(database: Database, kind: str, key: str) -> bool:
    """Whether a worker holds such a job, alive or not: a silent one's job waits again."""
    return database.row(_RUNNING, (f"{kind}:{key}",)) is not None


def has_open(database: Database, kind: str) -> bool:
    """Whether a job of the kind waits or runs."""
    sql = "SELECT 1 FROM job WHERE kind = ? AND state IN ('todo', 'running')"
    return database.row(sql, (kind,)) is not None


_LAST_DONE = "SELECT max(finished_at_ms) FROM job WHERE kind = ? AND state = 'done'"


def last_done_ms(database: Database, kind: str) -> int | None:
    """When a job of this kind was last done; None where that was never, or is forgotten."""
    found = database.value(_LAST_DONE, (kind,))
    return None if found is None else int(found)


# todo -> running
_CLAIM = """
UPDATE job SET state = 'running', token = ?, lease_until_ms = ?, attempts = attempts + 1
WHERE seq IN (
  SELECT seq FROM job
  WHERE state = 'todo' AND not_before_ms <= ? AND kind IN ({marks})
    AND NOT EXISTS (SELECT 1 FROM breaker b WHERE b.kind = job.kind AND b.paused_until_ms > ?)
  ORDER BY priority DESC, seq LIMIT ?)
RETURNING seq, kind, payload, attempts, priority
"""


def claim(
    database: Database,
    kinds: Sequence[str],
    now_ms: int,
    *,
    limit: int = 1,
    lease_ms: int = LEASE_MS,
) -> list[Claim]:
    """Takes up to limit due jobs of these kinds, best first, or none.

    Its commit need not be durable: after a power cut an unclaimed job is simply done again.
    """
    token = secrets.token_hex(8)
    sql = _CLAIM.format(marks=",".join("?" * len(kinds)))
    with database.undurable():
        recover_expired(database, now_ms)
        rows = database.rows(sql, (token, now_ms + lease_ms, now_ms, *kinds, now_ms, limit))
    # Subtle: RETURNING keeps no order.
    return [
        Claim(seq, kind, orjson.loads(payload), attempts, token)
        for seq, kind, payload, attempts, _ in sorted(rows, key=lambda row: (-row[4], row[0]))
    ]


# running -> running
_RENEW = "UPDATE job SET lease_until_ms = ? WHERE seq = ? AND token = ? AND state = 'running'"


def renew(database: Database, held: Claim, now_ms: int, *, lease_ms: int = LEASE_MS) -> bool:
    """Holds on to a job while a model works; False if it was lost already."""
    with database.undurable():
        return database.changed(_RENEW, (now_ms + lease_ms, held.seq, held.token)) == 1


# running -> done
_FINISH = """
UPDATE job SET state = 'done', token = NULL, lease_until_ms = NULL, error = NULL,
  finished_at_ms = ? WHERE seq = ? AND token = ? AND state = 'running'
"""
_RESET_BREAKER = "DELETE FROM breaker WHERE kind = ?"


def finish(database: Database, held: Iterable[Claim], now_ms: int) -> None:
    """Ends jobs together with their results, in the caller's transaction.

    Raises LeaseLostError, which rolls the results back, if any lease is no longer held.
    """
    kinds = set()
    for job in held:
        if database.changed(_FINISH, (now_ms, job.seq, job.token)) != 1:
            raise LeaseLostError(f"Job {job.seq} ({job.kind}) took longer than its lease and was "
                                 "given to another worker; its result was dropped.")  # fmt: skip
        kinds.add(job.kind)
    for kind in kinds:
        database.execute(_RESET_BREAKER, (kind,))


# running -> todo | dead, or done where the same job waits already
_GIVE_BACK = """
UPDATE job SET token = NULL, lease_until_ms = NULL, error = coalesce(:error, error),
  not_before_ms = :not_before, attempts = attempts - :uncounted,
  finished_at_ms = CASE WHEN :spent THEN :now END,
  state = CASE
    WHEN EXISTS (SELECT 1 FROM job twin
                 WHERE twin.dedupe_key = job.dedupe_key AND twin.state = 'todo') THEN 'done'
    WHEN :spent THEN 'dead'
    ELSE 'todo' END
WHERE seq = :seq AND token = :token AND state = 'running'
"""


def fail(
    database: Database,
    held: Claim,
    error: str,
    now_ms: int,
    *,
    breaker: bool = True,
    wait: bool = True,
) -> None:
    """Counts an attempt that failed: the job waits, longer each time, or is dead.

    breaker: whether failures of other jobs of the kind are likely to have the same cause.
    wait: False where another worker, elsewhere, may try it at once.
    """
    spent = held.attempts >= int(
        database.value("SELECT max_attempts FROM job WHERE seq = ?", (held.seq,)) or 0
    )
    wait_ms = backoff_ms(held.attempts) if wait else 0
    ours = _give_back(database, held, now_ms, error=error, spent=spent, wait_ms=wait_ms)
    if ours and breaker:
        _count_failure(database, held, error, now_ms)


def release(database: Database, held: Claim, now_ms: int) -> None:
    """Gives a job back untouched, as after Ctrl-C; the attempt does not count."""
    _give_back(database, held, now_ms, uncounted=1)


def _give_back(
    database: Database,
    held: Claim,
    now_ms: int,
    *,
    error: str | None = None,
    spent: bool = False,
    wait_ms: int = 0,
    uncounted: int = 0,
) -> bool:
    """Returns False where the job was no longer held; nothing happens then."""
    with database.transaction():
        changed = database.changed(
            _GIVE_BACK,
            {"seq": held.seq, "token": held.token, "now": now_ms, "spent": spent,
             "not_before": now_ms + wait_ms, "uncounted": uncounted,
             "error": error and error[:ERROR_CHARS_MAX]},
        )  # fmt: skip
    return changed == 1


def backoff_ms(attempts: int, jitter: float | None = None) -> int:
    """How long to wait after so many attempts: doubling, with up to a quarter on top.

    Example:
        >>> [backoff_ms(attempts, jitter=0.0) for attempts in (1, 2, 20)]
        [5000, 10000, 3600000]
    """
    share = random.random() if jitter is None else jitter
    wait = min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** min(attempts - 1, 30))
    return min(BACKOFF_MAX_MS, int(wait * (1 + share / 4)))


_EXPIRED = """
SELECT seq, kind, payload, attempts, token, max_attempts FROM job
WHERE state = 'running' AND lease_until_ms <= ?
"""


def recover_expired(database: Database, now_ms: int) -> int:
    """Jobs whose worker went silent wait again; one that was tried too often is dead."""
    rows = database.rows(_EXPIRED, (now_ms,))
    for seq, kind, payload, attempts, token, max_attempts in rows:
        held = Claim(seq, kind, orjson.loads(payload), attempts, token)
        error = f"the worker went silent during attempt {attempts}"
        _give_back(database, held, now_ms, error=error, spent=attempts >= max_attempts)
    return len(rows)


# -- the circuit breaker ---------------------------------------------------------------

_FAILING = "SELECT job_seqs FROM breaker WHERE kind = ?"
_COUNT_FAILURE = """
INSERT INTO breaker (kind, job_seqs, reason) VALUES (:kind, :seqs, :reason)
ON CONFLICT (kind) DO UPDATE SET job_seqs = excluded.job_seqs, reason = excluded.reason
"""
_PAUSE = """
INSERT INTO breaker (kind, job_seqs, paused_until_ms, reason) VALUES (:kind, '[]', :until, :reason)
ON CONFLICT (kind) DO UPDATE SET job_seqs = '[]', paused_until_ms = excluded.paused_until_ms,
  reason = excluded.reason
"""


def _count_failure(database: Database, held: Claim, reason: str, now_ms: int) -> None:
    """Three different jobs of a kind failing without a success in between pause the kind; a
    poisoned job or two that fail again and again do not."""
    with database.transaction():
        failing = set(orjson.loads(database.value(_FAILING, (held.kind,)) or "[]")) | {held.seq}
        database.execute(
            _COUNT_FAILURE,
            {"kind": held.kind, "seqs": orjson.dumps(sorted(failing)).decode(),
             "reason": reason[:ERROR_CHARS_MAX]},
        )  # fmt: skip
        if len(failing) >= BREAKER_FAILURES:
            pause(database, held.kind, reason, now_ms)


def pause(database: Database, kind: str, reason: str, now_ms: int) -> None:
    """Holds back all jobs of a kind for a while."""
    with database.transaction():
        until = now_ms + BREAKER_PAUSE_MS
        database.execute(_PAUSE, {"kind": kind, "until": until, "reason": reason[:ERROR_CHARS_MAX]})


def resume(database: Database, kind: str) -> None:
    """Lets a kind's jobs run again at once."""
    with database.transaction():
        database.execute(_RESET_BREAKER, (kind,))


def paused(database: Database, now_ms: int) -> dict[str, str]:
    """The kinds held back now, with the reason."""
    sql = "SELECT kind, reason FROM breaker WHERE paused_until_ms > ?"
    return dict(database.rows(sql, (now_ms,)))


# -- looking and steering --------------------------------------------------------------

_COLUMNS = (
    "seq, kind, dedupe_key, state, attempts, max_attempts, priority, not_before_ms, "
    "created_at_ms, error, lease_until_ms, token"
)


_LISTING = f"""
SELECT {_COLUMNS} FROM job WHERE state IN ({{marks}})
ORDER BY state = 'running' DESC, state = 'todo' DESC, priority DESC, seq LIMIT ?
"""  # noqa: S608


def get(database: Database, seq: int) -> Job:
    row = database.row(f"SELECT {_COLUMNS} FROM job WHERE seq = ?", (seq,))  # noqa: S608
    if row is None:
        raise NotFoundError(f"There is no job {seq}. See: treemem job list")
    return _job_from(row)


def listing(database: Database, states: Sequence[str], limit: int) -> list[Job]:
    """The jobs in these states, those that run or come next first."""
    marks = ",".join("?" * len(states))
    rows = database.rows(_LISTING.format(marks=marks), (*states, limit))
    return [_job_from(row) for row in rows]


def counts(database: Database) -> dict[str, dict[str, int]]:
    """{kind: {state: number}}."""
    found: dict[str, dict[str, int]] = {}
    sql = "SELECT kind, state, count(*) FROM job GROUP BY kind, state ORDER BY kind, state"
    for kind, state, number in database.rows(sql):
        found.setdefault(kind, {})[state] = number
    return found


def retry(database: Database, seq: int, now_ms: int) -> Job:
    """A waiting or dead job runs as soon as a worker comes, with all its attempts before it."""
    with database.transaction():
        job = get(database, seq)
        if job.state not in ("dead", "todo"):
            raise UsageError(f"Job {seq} is {job.state}; only dead or waiting jobs can be retried.")
        twin = "SELECT seq FROM job WHERE dedupe_key = ? AND state = 'todo' AND seq <> ?"
        if waiting := database.value(twin, (job.dedupe_key, seq)):
            raise UsageError(f"Job {waiting} already waits to do the same as job {seq}.")
        sql = ("UPDATE job SET state = 'todo', attempts = 0, not_before_ms = ?, "
               "finished_at_ms = NULL WHERE seq = ?")  # fmt: skip
        database.execute(sql, (now_ms, seq))
        database.execute(_RESET_BREAKER, (job.kind,))
        return get(database, seq)


def cancel(database: Database, seq: int) -> None:
    """Takes a job that waits or is dead out of the queue. Nothing stored is touched."""
    with database.transaction():
        job = get(database, seq)
        if job.state == "running":
            raise UsageError(f"Job {seq} is running; stop its worker, or wait.")
        database.execute("DELETE FROM job WHERE seq = ?", (seq,))


def error_texts(database: Database) -> Sequence[tuple[int, str]]:
    """The errors of jobs, by row number."""
    return database.rows("SELECT seq, error FROM job WHERE error IS NOT NULL")


def rewrite_error(database: Database, seq: int, error: str) -> None:
    database.execute("UPDATE job SET error = ? WHERE seq = ?", (error, seq))


def breaker_reasons(database: Database) -> Sequence[tuple[str, str]]:
    """Why kinds of jobs are held back, by kind."""
    return database.rows("SELECT kind, reason FROM breaker WHERE reason IS NOT NULL")


def rewrite_breaker_reason(database: Database, kind: str, reason: str) -> None:
    database.execute("UPDATE breaker SET reason = ? WHERE kind = ?", (reason, kind))


def prune(database: Database) -> None:
    """Forgets all but the newest DONE_KEPT finished jobs."""
    sql = "DELETE FROM job WHERE state = 'done' AND seq <= (SELECT max(seq) FROM job) - ?"
    with database.transaction():
        database.execute(sql, (DONE_KEPT,))


def _job_from(row: Row) -> Job:
    (seq, kind, key, state, attempts, max_attempts, priority, not_before, created, error,
     lease_until, token) = row  # fmt: skip
    return Job(
        id=seq, kind=kind, dedupe_key=key, state=state, attempts=attempts,
        max_attempts=max_attempts, priority=priority,
        not_before=times.from_ms(not_before) or "", created_at=times.from_ms(created) or "",
        error=error, lease_until=times.from_ms(lease_until), token=token,
    )  # fmt: skip
