"""Stores the queue of jobs in one table of the memory file.

    admit          claim             finish
  ----------> todo -----> running ------------> done
               ^            | fail, lease run out
               +------------+----------------> dead   (after max_attempts)

A job is admitted in the transaction that creates its work. At most one job per dedupe key waits. A
claimed job has a lease, so it is never lost. Times are milliseconds since 1970 UTC and come from
the caller. A time that lies too far ahead was written by a clock that was set back since, and holds
nothing up.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from treemem import times
from treemem.errors import SEE_JOBS, LeaseLostError, NotFoundError, UsageError
from treemem.store import json_text
from treemem.store.database import INTEGER_MAX, Database, Row
from treemem.types import Job

LEASE_MS = 60_000
# No lease ends later than this from now; it leaves room for clocks that are set by seconds.
LEASE_MAX_MS = 2 * LEASE_MS
ATTEMPTS_MAX = 5
# The shortest wait, after the first failed attempt, and the longest.
BACKOFF_FIRST_MS = 5_000
BACKOFF_MAX_MS = 3_600_000
# A kind is paused when this many different jobs of it fail without a success in between.
BREAKER_FAILURES = 3
BREAKER_PAUSE_MS = 600_000
# prune deletes done jobs whose seq is this far below the newest job's, or farther.
DONE_JOBS_MAX = 1_000
ERROR_CHARS_MAX = 500


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that a worker has claimed. token: proves that the worker still has the lease."""

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
    """Queues a job, in the caller's transaction. If the same job already waits, it gets the earlier
    due time and the higher priority of the two."""
    parameters = {
        "kind": kind, "key": f"{kind}:{key}", "payload": orjson.dumps(payload).decode(),
        "priority": priority, "max_attempts": max_attempts, "now": now_ms,
        "not_before": now_ms if not_before_ms is None else not_before_ms,
    }  # fmt: skip
    database.execute(_ADMIT, parameters)


_RUNNING = "SELECT 1 FROM job WHERE dedupe_key = ? AND state = 'running'"


def is_running(database: Database, kind: str, key: str) -> bool:
    """Whether the job is claimed, even by a worker that has died; see recover_expired."""
    return database.row(_RUNNING, (f"{kind}:{key}",)) is not None


def has_open(database: Database, kind: str) -> bool:
    """Whether a job of this kind waits or runs."""
    sql = "SELECT 1 FROM job WHERE kind = ? AND state IN ('todo', 'running')"
    return database.row(sql, (kind,)) is not None


_LAST_DONE = "SELECT max(finished_at_ms) FROM job WHERE kind = ? AND state = 'done'"


def last_done_ms(database: Database, kind: str) -> int | None:
    """When a job of this kind was last done; None if never, or if it was pruned."""
    finished_at_ms = database.value(_LAST_DONE, (kind,))
    return None if finished_at_ms is None else int(finished_at_ms)


# todo -> running
_CLAIM = """
UPDATE job SET state = 'running', token = ?, lease_until_ms = ?, attempts = attempts + 1
WHERE seq IN (
  SELECT seq FROM job
  WHERE state = 'todo' AND not_before_ms NOT BETWEEN ? AND ? AND kind IN ({marks})
    AND NOT EXISTS (SELECT 1 FROM breaker b
                    WHERE b.kind = job.kind AND b.paused_until_ms BETWEEN ? AND ?)
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
    """Claims up to limit due jobs of these kinds, the most urgent first.

    The commit need not be durable: a claim lost in a power cut leaves the job waiting.
    """
    token = secrets.token_hex(8)
    sql = _CLAIM.format(marks=",".join("?" * len(kinds)))
    with database.undurable():
        recover_expired(database, now_ms)
        waits = (now_ms + 1, now_ms + BACKOFF_MAX_MS)
        pauses = (now_ms + 1, now_ms + BREAKER_PAUSE_MS)
        parameters = (token, now_ms + lease_ms, *waits, *kinds, *pauses, limit)
        rows = database.rows(sql, parameters)
    # Subtle: RETURNING has no defined order.
    return [
        Claim(seq, kind, json_text.object_of(payload), attempts, token)
        for seq, kind, payload, attempts, _ in sorted(rows, key=lambda row: (-row[4], row[0]))
    ]


# running -> running
_RENEW = "UPDATE job SET lease_until_ms = ? WHERE seq = ? AND token = ? AND state = 'running'"


def renew(database: Database, claim: Claim, now_ms: int, *, lease_ms: int = LEASE_MS) -> bool:
    """Extends a lease; returns False if it has been lost."""
    with database.undurable():
        return database.changed(_RENEW, (now_ms + lease_ms, claim.seq, claim.token)) == 1


# running -> done
_FINISH = """
UPDATE job SET state = 'done', token = NULL, lease_until_ms = NULL, error = NULL,
  finished_at_ms = ? WHERE seq = ? AND token = ? AND state = 'running'
"""
_RESET_BREAKER = "DELETE FROM breaker WHERE kind = ?"


def finish(database: Database, claims: Iterable[Claim], now_ms: int) -> None:
    """Marks jobs as done, in the transaction that stores their results.

    Raises LeaseLostError if any lease was lost, which rolls back the results.
    """
    kinds = set()
    for claim in claims:
        if database.changed(_FINISH, (now_ms, claim.seq, claim.token)) != 1:
            raise LeaseLostError(
                f"Job {claim.seq} ({claim.kind}) took longer than its lease and was given to "
                "another worker; its result was dropped."
            )
        kinds.add(claim.kind)
    for kind in kinds:
        database.execute(_RESET_BREAKER, (kind,))


# running -> todo | dead, or done if the same job already waits
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
    claim: Claim,
    error: str,
    now_ms: int,
    *,
    breaker: bool = True,
    wait: bool = True,
) -> None:
    """Ends a failed attempt: the job waits, longer after each attempt, or is dead after its last.

    breaker: whether the failure counts toward pausing the kind, because other jobs are likely to
    fail for the same reason. wait: False if another worker may try at once.
    """
    spent = claim.attempts >= int(
        database.value("SELECT max_attempts FROM job WHERE seq = ?", (claim.seq,)) or 0
    )
    wait_ms = backoff_ms(claim.attempts) if wait else 0
    is_ours = _give_back(database, claim, now_ms, error=error, spent=spent, wait_ms=wait_ms)
    if is_ours and breaker:
        _count_failure(database, claim, error, now_ms)


def release(database: Database, claim: Claim, now_ms: int) -> None:
    """Returns a job to the queue, for example after Ctrl-C. The attempt does not count."""
    _give_back(database, claim, now_ms, uncounted=1)


def _give_back(
    database: Database,
    claim: Claim,
    now_ms: int,
    *,
    error: str | None = None,
    spent: bool = False,
    wait_ms: int = 0,
    uncounted: int = 0,
) -> bool:
    """Ends a claim without a result. Returns False, and changes nothing, if the lease was lost."""
    with database.transaction():
        changed = database.changed(
            _GIVE_BACK,
            {"seq": claim.seq, "token": claim.token, "now": now_ms, "spent": spent,
             "not_before": now_ms + wait_ms, "uncounted": uncounted,
             "error": error and error[:ERROR_CHARS_MAX]},
        )  # fmt: skip
    return changed == 1


def backoff_ms(attempts: int, jitter: float | None = None) -> int:
    """The wait after this many attempts: doubles each time, plus up to a quarter of jitter.

    jitter: 0.0 to 1.0; None for a random one.

    Example:
        >>> [backoff_ms(attempts, jitter=0.0) for attempts in (1, 2, 20)]
        [5000, 10000, 3600000]
    """
    share = random.random() if jitter is None else jitter
    wait = min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** min(attempts - 1, 30))
    return min(BACKOFF_MAX_MS, int(wait * (1 + share / 4)))


_EXPIRED = """
SELECT seq, kind, payload, attempts, token, max_attempts FROM job
WHERE state = 'running' AND (lease_until_ms <= ? OR lease_until_ms > ?)
"""


def recover_expired(database: Database, now_ms: int) -> int:
    """Returns jobs with expired leases to the queue, or makes them dead after their last attempt.
    Returns their number."""
    rows = database.rows(_EXPIRED, (now_ms, now_ms + LEASE_MAX_MS))
    for seq, kind, payload, attempts, token, max_attempts in rows:
        claim = Claim(seq, kind, json_text.object_of(payload), attempts, token)
        error = f"the worker went silent during attempt {attempts}"
        _give_back(database, claim, now_ms, error=error, spent=attempts >= max_attempts)
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


def _count_failure(database: Database, claim: Claim, reason: str, now_ms: int) -> None:
    """Pauses a kind when BREAKER_FAILURES different jobs of it have failed without a success in
    between. Fewer jobs do not pause it, however often they fail."""
    with database.transaction():
        failing = set(json_text.list_of(database.value(_FAILING, (claim.kind,)))) | {claim.seq}
        database.execute(
            _COUNT_FAILURE,
            {"kind": claim.kind, "seqs": orjson.dumps(sorted(failing)).decode(),
             "reason": reason[:ERROR_CHARS_MAX]},
        )  # fmt: skip
        if len(failing) >= BREAKER_FAILURES:
            pause(database, claim.kind, reason, now_ms)


def pause(database: Database, kind: str, reason: str, now_ms: int) -> None:
    """Prevents claims of a kind for BREAKER_PAUSE_MS."""
    with database.transaction():
        until = now_ms + BREAKER_PAUSE_MS
        database.execute(_PAUSE, {"kind": kind, "until": until, "reason": reason[:ERROR_CHARS_MAX]})


def resume(database: Database, kind: str) -> None:
    """Ends the pause of a kind and resets its failures."""
    with database.transaction():
        database.execute(_RESET_BREAKER, (kind,))


def paused(database: Database, now_ms: int) -> dict[str, str]:
    """The reasons of the paused kinds, by kind."""
    sql = "SELECT kind, reason FROM breaker WHERE paused_until_ms BETWEEN ? AND ?"
    return dict(database.rows(sql, (now_ms + 1, now_ms + BREAKER_PAUSE_MS)))


# -- listing and changing --------------------------------------------------------------

_COLUMNS = (
    "seq, kind, dedupe_key, state, attempts, max_attempts, priority, not_before_ms, "
    "created_at_ms, error, lease_until_ms, token"
)


_LISTING = f"""
SELECT {_COLUMNS} FROM job WHERE state IN ({{marks}})
ORDER BY state = 'running' DESC, state = 'todo' DESC, priority DESC, seq LIMIT ?
"""  # noqa: S608


def get(database: Database, seq: int) -> Job:
    """One job. Raises NotFoundError."""
    sql = f"SELECT {_COLUMNS} FROM job WHERE seq = ?"  # noqa: S608
    row = database.row(sql, (seq,)) if 0 < seq <= INTEGER_MAX else None
    if row is None:
        raise NotFoundError(f"There is no job {seq}.", hint=SEE_JOBS)
    return _job_from(row)


def listing(database: Database, states: Sequence[str], limit: int) -> list[Job]:
    """Up to limit jobs in these states: running ones first, then waiting ones by urgency."""
    marks = ",".join("?" * len(states))
    rows = database.rows(_LISTING.format(marks=marks), (*states, min(limit, INTEGER_MAX)))
    return [_job_from(row) for row in rows]


def counts(database: Database) -> dict[str, dict[str, int]]:
    """The number of jobs by kind and state."""
    numbers: dict[str, dict[str, int]] = {}
    sql = "SELECT kind, state, count(*) FROM job GROUP BY kind, state ORDER BY kind, state"
    for kind, state, number in database.rows(sql):
        numbers.setdefault(kind, {})[state] = number
    return numbers


def retry(database: Database, seq: int, now_ms: int) -> Job:
    """Makes a waiting or dead job due now and resets its attempts. Raises UsageError if it is
    running or done, or if the same job already waits."""
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
    """Deletes a job. Raises UsageError if it is running."""
    with database.transaction():
        job = get(database, seq)
        if job.state == "running":
            raise UsageError(f"Job {seq} is running; stop its worker, or wait.")
        database.execute("DELETE FROM job WHERE seq = ?", (seq,))


def error_texts(database: Database) -> Sequence[tuple[int, str]]:
    """(seq, error) of each job with an error."""
    return database.rows("SELECT seq, error FROM job WHERE error IS NOT NULL")


def rewrite_error(database: Database, seq: int, error: str) -> None:
    database.execute("UPDATE job SET error = ? WHERE seq = ?", (error, seq))


def breaker_reasons(database: Database) -> Sequence[tuple[str, str]]:
    """(kind, reason) of each paused or failing kind."""
    return database.rows("SELECT kind, reason FROM breaker WHERE reason IS NOT NULL")


def rewrite_breaker_reason(database: Database, kind: str, reason: str) -> None:
    database.execute("UPDATE breaker SET reason = ? WHERE kind = ?", (reason, kind))


def prune(database: Database) -> None:
    """Deletes done jobs, except those among the newest DONE_JOBS_MAX seqs."""
    sql = "DELETE FROM job WHERE state = 'done' AND seq <= (SELECT max(seq) FROM job) - ?"
    with database.transaction():
        database.execute(sql, (DONE_JOBS_MAX,))


def _job_from(row: Row) -> Job:
    (seq, kind, key, state, attempts, max_attempts, priority, not_before, created, error,
     lease_until, token) = row  # fmt: skip
    return Job(
        id=seq, kind=kind, dedupe_key=key, state=state, attempts=attempts,
        max_attempts=max_attempts, priority=priority,
        not_before=times.from_ms(not_before) or "", created_at=times.from_ms(created) or "",
        error=error, lease_until=times.from_ms(lease_until), token=token,
    )  # fmt: skip
