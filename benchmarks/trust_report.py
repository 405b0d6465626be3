"""The faithfulness benchmark's tables, its aims, and what goes into its JSON file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks import round_trip
from benchmarks.evidence import SHARES
from benchmarks.report import Aim, show_aims, show_table, shown
from treemem_cli.render import safe

if TYPE_CHECKING:
    from benchmarks.faithfulness import Results

CLOSED_GONE_MIN = 90
_UNSUPPORTED = "unsupported items in kept statements"
_SPEAKER = "speaker errors in kept statements"
_LOST = "constraints lost before the root"
_OPEN_LOST = "open points lost before the root"
_CLOSED = "closed points gone from the open list, %"
_FAILED = "model jobs that failed"
_LONG = "summaries longer than they may be"
GATING = (_UNSUPPORTED, _SPEAKER, _LOST, _OPEN_LOST, _CLOSED, _FAILED)


def aims(results: Results) -> list[Aim]:
    """What was hoped for; the worst log counts for what survives."""
    rows, logs = results.statements, list(results.survival.values())
    gone = [100 * (1 - len(log["closed_but_listed"]) / log["closed"])
            for log in logs if log["closed"]]  # fmt: skip
    failed = sum(sum(run["failed"].values()) + len(run["paused"]) for run in results.model_runs)
    return [
        Aim(_UNSUPPORTED, 0, sum(row.count("unsupported") for row in rows), at_most=True),
        Aim(_SPEAKER, 0, sum(row.count("speaker") for row in rows), at_most=True),
        Aim(_LONG, 0, sum(row.over for row in rows), at_most=True),
        Aim(_LOST, 0, _most(logs, "constraints_lost"), at_most=True),
        Aim(_OPEN_LOST, 0, _most(logs, "still_open_lost"), at_most=True),
        Aim(_CLOSED, CLOSED_GONE_MIN, min(gone, default=None)),
        Aim(_FAILED, 0, failed if results.model_runs else None, at_most=True),
    ]


def _most(logs: Sequence[dict[str, Any]], key: str) -> int | None:
    return max((len(log[key]) for log in logs), default=None)


def missed(aims: Sequence[Aim]) -> list[str]:
    """The missed aims that may not be missed."""
    return [aim.name for aim in aims if aim.name in GATING and aim.verdict == "missed"]


def told(results: Results) -> dict[str, Any]:
    """Everything that was measured, as values that JSON knows."""
    return {
        "statements": [row.told() for row in results.statements],
        "survival": results.survival,
        "evidence": [
            {"set": dataset, "producer": producer, "way": way, "share": share, **asdict(kept)}
            for (dataset, producer), table in results.evidence.items()
            for way, row in table.items() for share, kept in row.items()
        ],
        "round_trip": [
            {"set": dataset, "producer": producer, "text": text, **asdict(trips)}
            for (dataset, producer), table in results.round_trip.items()
            for text, trips in table.items()
        ],
        "model_runs": results.model_runs,
    }  # fmt: skip


# -- tables ----------------------------------------------------------------------------


def show(results: Results, aims: Sequence[Aim]) -> None:
    """Every table, every find, every miss."""
    _show_statements(results)
    _show_survival(results)
    _show_questions(results)
    for run in results.model_runs:
        if run["stopped_by"] != "empty" or run["failed"] or run["paused"]:
            print(f"{run['model']} on {run['set']}: ended by {run['stopped_by']}, "
                  f"failed {run['failed']}, paused {run['paused']}")  # fmt: skip
    show_aims(aims)


def _show_statements(results: Results) -> None:
    rows = results.statements
    columns = ("set", "level", "producer", "usable", "offered", "kept", "refused", "unsupp.",
               "speaker", "mean", "max", "over")  # fmt: skip
    cells = [
        (
            *(row.dataset, row.level, row.producer.partition("@")[0]),
            f"{row.usable} of {row.nodes}",
            *map(str, (row.offered, row.written, row.rejected.total())),
            *map(str, (row.count("unsupported"), row.count("speaker"))),
            *(shown(_mean(row.ratios)), shown(max(row.ratios, default=None)), str(row.over)),
        )
        for row in rows
    ]
    show_table("(a-d) statements offered, kept and borne out", columns, cells, 3)
    reasons = [
        (row.dataset, row.level, row.producer, safe(reason), str(count))
        for row in rows for reason, count in row.rejected.most_common()
    ]  # fmt: skip
    if reasons:
        heads = ("set", "level", "producer", "refused because", "count")
        show_table("(a) refused", heads, reasons, 4)
    for row in rows:
        for found in row.finds:
            print(f"FOUND  {row.dataset}, {row.level}, {row.producer}: {found['kind']} "
                  f"{safe(found['item'])!r}")  # fmt: skip
            print(f"       says:  {_line(found['statement'])}")
            for cited in found["cited"]:
                print(f"       cites: {_line(cited)}")


def _show_survival(results: Results) -> None:
    names = (("constraints", "constraints_lost"), ("still_open", "still_open_lost"),
             ("closed", "closed_but_listed"))  # fmt: skip
    cells = []
    for name, log in results.survival.items():
        shares = [f"{log[total] - len(log[miss])} of {log[total]}" for total, miss in names]
        others = (len(log["closed_never_listed"]), len(log["under_another_kind"]))
        cells.append((name, *shares, *map(str, others), str(log["root_statements"])))
    columns = ("log", "constraints kept", "still open kept", "closed gone", "never listed",
               "other kind", "statements")  # fmt: skip
    if cells:
        show_table("(f) what of the planted reaches the root", columns, cells)
    for name, log in results.survival.items():
        for key, word in (("constraints_lost", "LOST RULE"), ("still_open_lost", "LOST OPEN"),
                          ("closed_but_listed", "NOT CLOSED"),
                          ("closed_never_listed", "NEVER LISTED")):  # fmt: skip
            for text in log[key]:
                print(f"{word:12} {name}: {_line(text)}")


def _show_questions(results: Results) -> None:
    cells = [
        (dataset, producer, way, *(_percent(row[share].share) for share in SHARES),
         str(row[SHARES[0]].of))
        for (dataset, producer), table in results.evidence.items() for way, row in table.items()
    ]  # fmt: skip
    if cells:
        budgets = [f"{share:.0%}" for share in SHARES]
        show_table("(e) evidence kept by the leaves, % at a share of their tokens",
                   ("set", "producer", "picked", *budgets, "entries"), cells, 3)  # fmt: skip
        columns = ("set", "producer", "text", "questions", "all %", "half %", "tokens")
        show_table("(g) answers still found above their evidence", columns, list(_trips(results)),
                   3)  # fmt: skip


def _trips(results: Results) -> Iterator[tuple[str, ...]]:
    for (dataset, producer), table in results.round_trip.items():
        for text, row in round_trip.in_order(table):
            of = row.questions
            yield (dataset, producer, text, str(of), _percent(row.whole / of),
                   _percent(row.half / of), str(row.tokens // of))  # fmt: skip


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _line(text: str) -> str:
    return safe(" ".join(text.split()))
