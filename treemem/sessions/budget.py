"""Divides a window of tokens among the parts of a context. Pure.

Tested in tests/sessions/test_budget.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treemem.errors import UsageError
from treemem.sessions.values import BANDS, Band

# The share of a window that is kept for the answer: 16,000 of 200,000 tokens. A small window keeps
# more of its tokens, since an answer does not get shorter with it.
RESERVE_SHARE = 0.08
RESERVE_MIN = 1_024
RESERVE_SHARE_MAX = 0.25
# A compaction begins at the first share of the room, and ends below the second: it must gain
# enough turns that the next one is far.
TRIGGER_SHARE, TARGET_SHARE = 0.85, 0.60
# It ends at this share if it lets a digest stand for turns: then all of the context is evaluated
# anew in any case, and the less is left, the later it is again.
DIGEST_SHARE = 0.50
WINDOW_MIN = 1_000
# The largest share of the room that each part may take.
SHARES: dict[str, float] = {
    "pins": 0.25,     # of the user's and the caller's, so more is an error and nothing is cut
    "rules": 0.05,    # the user's standing rules
    "open": 0.05,     # points that are open
    "past": 0.12,     # the digest of turns that are not shown
    "catalog": 0.08,  # the list of blocks that are not shown
    "memory": 0.15,   # what the memory knows about the last request
    "result": 0.10,   # one result of a tool, before it is trimmed
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a window. reserve: for the answer. shares: of the room, by part.

    Example:
        >>> budget = Budget.of(32_000)
        >>> budget.room, budget.trigger, budget.target, budget.share("memory")
        (29440, 25024, 17664, 4416)
    """

    window: int
    reserve: int
    shares: Mapping[str, float] = field(default_factory=lambda: SHARES)

    @classmethod
    def of(
        cls, window: int, reserve: int | None = None, shares: Mapping[str, float] | None = None
    ) -> Budget:
        """The budget of a window. reserve: None for the default. shares: replace some of SHARES.
        Raises UsageError for a window or shares that leave no room."""
        if not isinstance(window, int) or isinstance(window, bool) or window < WINDOW_MIN:
            raise UsageError(f"A window has at least {WINDOW_MIN} tokens, not {window!r}.")
        if reserve is None:
            least = min(RESERVE_MIN, int(RESERVE_SHARE_MAX * window))
            reserve = max(int(RESERVE_SHARE * window), least)
        if not isinstance(reserve, int) or isinstance(reserve, bool) or not 0 <= reserve < window:
            raise UsageError(
                f"The reserve for the answer is a number of tokens from 0 to below the window of "
                f"{window}, not {reserve!r}."
            )
        for name, share in (shares or {}).items():
            if name not in SHARES:
                raise UsageError(f"There is no part {name!r} of a window; use {', '.join(SHARES)}.")
            if not isinstance(share, int | float) or not 0 <= share <= 1:
                raise UsageError(f"The share of {name} is a number from 0 to 1, not {share!r}.")
        return cls(window, reserve, {**SHARES, **(shares or {})})

    @property
    def room(self) -> int:
        """The tokens for messages."""
        return self.window - self.reserve

    @property
    def trigger(self) -> int:
        """With more tokens than this, a context is compacted."""
        return int(TRIGGER_SHARE * self.room)

    @property
    def target(self) -> int:
        """The tokens that a compaction leaves at most."""
        return int(TARGET_SHARE * self.room)

    @property
    def digest_target(self) -> int:
        """The tokens that a compaction leaves at most if it lets a digest stand for turns."""
        return int(DIGEST_SHARE * self.room)

    def share(self, part: str) -> int:
        """The most tokens of a part, see SHARES."""
        return int(self.shares[part] * self.room)

    def band(self, tokens: int) -> Band:
        """How full the window is with this many tokens."""
        return next((band for band, share in BANDS if tokens < share * self.room), "full")
