"""Shows the tables, findings and aims of the faithfulness benchmark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.harness import Aim, percent, show_aims, show_table, shown
from benchmarks.trust.evidence import SHARES
from benchmarks.trust.statements import Figures
from treemem_cli.render import safe

Tables = dict[tuple[str, str], dict[str, Counter[str]]]


def _tables() -> Tables:
    return defaultdict(lambda: defaultdict(Counter))


@dataclass(slots=True)
class Results:
    """All figures. survival: by log and ledger. shown: the same of what nodes show."""

    statements: list[Figures] = field(default_factory=list)
    survival: dict[str, dict[str, Any]] = field(default_factory=dict)
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    evidence: Tables = field(default_factory=_tables)
    round_trip: Tables = field(default_factory=_tables)
    model_runs: list[dict[str, Any]] = field(default_factory=list)


# Per cent of the closed points that have to be gone from the open list.
CLOSED_GONE_MIN = 90
# What survives in a planted log: the count, the misses, and how a miss is printed.
_PLANTED = (("constraints", "constraints_lost", "LOST RULE"),
            ("still_open", "still_open_lost", "LOST OPEN"),
            ("closed", "closed_but_listed", "NOT CLOSED"))  # fmt: skip


def aims(results: Results) -> list[Aim]:
    """The aims, with the worst log for what survives."""
    rows, logs = results.statements, list(results.survival.values())
    gone = [100 * (1 - len(log["closed_but_listed"]) / log["closed"])
            for log in logs if log["closed"]]  # fmt: skip
    failed = sum(sum(run["failed"].values()) + len(run["paused"]) for run in results.model_runs)
    rules, points = (
        max((len(log[key]) for log in logs), default=None)
        for key in ("constraints_lost", "still_open_lost")
    )
    unsupported = sum(row.unsupported for row in rows)
    speakers = sum(row.wrong_speakers for row in rows)
    return [
        Aim("unsupported items in statements", 0, unsupported, at_most=True),
        Aim("wrong speakers in statements", 0, speakers, at_most=True),
        Aim("summaries above their ceiling", 0, sum(row.over for row in rows), at_most=True),
        Aim("unproven statements shown", 0, sum(row.unproven for row in rows), at_most=True),
        Aim("constraints missing in a ledger", 0, rules, at_most=True),
        Aim("open points missing in a ledger", 0, points, at_most=True),
        Aim("closed points that a ledger closes, %", CLOSED_GONE_MIN, min(gone, default=None)),
        Aim("model jobs that failed", 0, failed if results.model_runs else None, at_most=True),
    ]


def missed(aims: Sequence[Aim]) -> list[str]:
    """The missed aims that make a sample fail."""
    return [aim.name for aim in aims if aim.verdict == "missed"]


def as_json(results: Results) -> dict[str, Any]:
    """Every figure, as values that JSON has."""

    def listed(tables: Tables) -> list[dict[str, Any]]:
        return [
            {"set": dataset, "producer": producer, "of": name, **row}
            for (dataset, producer), table in tables.items() for name, row in table.items()
        ]  # fmt: skip

    return {
        "statements": [asdict(row) for row in results.statements],
        "survival": results.survival, "shown": results.shown, "evidence": listed(results.evidence),
        "round_trip": listed(results.round_trip), "model_runs": results.model_runs,
    }  # fmt: skip


def show(results: Results, aims: Sequence[Aim]) -> None:
    """Prints every table, finding and miss."""
    _show_statements(results)
    _show_survival(results)
    _show_questions(results)
    for run in results.model_runs:
        if run["stopped_by"] != "empty" or run["failed"] or run["paused"]:
            print(f"{run['model']} on {run['set']}: stopped by {run['stopped_by']}, "
                  f"failed {run['failed']}, paused {run['paused']}")  # fmt: skip
    show_aims(aims)


def _show_statements(results: Results) -> None:
    rows = results.statements
    columns = ("set", "level", "producer", "usable", "offered", "kept", "refused", "unsupp.",
               "speaker", "mean", "max", "over")  # fmt: skip
    cells = [
        (
            row.dataset, row.level, row.producer.partition("@")[0],
            f"{row.usable} of {row.nodes}",
            *map(str, (row.offered, row.written, row.rejected.total())),
            *map(str, (row.unsupported, row.wrong_speakers)),
            shown(sum(row.ratios) / len(row.ratios) if row.ratios else None),
            shown(max(row.ratios, default=None)), str(row.over),
        )
        for row in rows
    ]  # fmt: skip
    show_table("(a-d) statements offered, kept and supported", columns, cells, 3)
    reasons = [
        (row.dataset, row.level, row.producer, safe(reason), str(count))
        for row in rows for reason, count in row.rejected.most_common()
    ]  # fmt: skip
    if reasons:
        heads = ("set", "level", "producer", "refused because", "count")
        show_table("(a) refused", heads, reasons, 4)
    for row in rows:
        for finding in row.findings:
            print(f"FOUND  {row.dataset}, {row.level}, {row.producer}: {finding['kind']} "
                  f"{safe(finding['item'])!r}")  # fmt: skip
            print(f"       says:  {_line(finding['statement'])}")
            for cited in finding["cited"]:
                print(f"       cites: {_line(cited)}")


def _show_survival(results: Results) -> None:
    for title, logs in (
        ("(f) planted sentences that hold in the ledger", results.survival),
        ("(f) those of them that are shown", results.shown),
    ):
        cells = []
        for name, log in logs.items():
            shares = [
                f"{log[total] - len(log[miss])} of {log[total]}" for total, miss, _ in _PLANTED
            ]
            others = (len(log["closed_never_listed"]), len(log["under_another_kind"]))
            cells.append((name, *shares, *map(str, others), str(log["listed"])))
        columns = ("log", "constraints kept", "still open kept", "closed gone", "never listed",
                   "other kind", "entries")  # fmt: skip
        if cells:
            show_table(title, columns, cells)
    for name, log in results.survival.items():
        for _, key, word in (*_PLANTED, ("", "closed_never_listed", "NEVER LISTED")):
            for text in log[key]:
                print(f"{word:12} {name}: {_line(text)}")


def _show_questions(results: Results) -> None:
    def share(row: Counter[str], key: str, of: str) -> str:
        return percent(row[key] / row[of] if row[of] else None)

    evidence_rows = [
        (*key, way, *(share(row, str(budget), "of") for budget in SHARES), str(row["of"]))
        for key, table in results.evidence.items() for way, row in table.items()
    ]  # fmt: skip
    answer_rows = [
        (*key, kind, str(row["questions"]), share(row, "whole", "questions"),
         share(row, "half", "questions"), str(row["tokens"] // max(1, row["questions"])))
        for key, table in results.round_trip.items() for kind, row in table.items()
    ]  # fmt: skip
    if evidence_rows:
        budgets = [f"{budget:.0%}" for budget in SHARES]
        columns = ("set", "producer", "picked", *budgets, "entries")
        title = "(e) evidence kept of the leaves, % at a share of their tokens"
        show_table(title, columns, evidence_rows, 3)
        columns = ("set", "producer", "text", "questions", "all %", "half %", "tokens")
        show_table("(g) answers still with or above their evidence", columns, answer_rows, 3)


def _line(text: str) -> str:
    return safe(" ".join(text.split()))
