"""Leaves depend on the messages alone, not on when or in how many steps they are sealed."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import ids
from treemem.text.tokens import count_tokens, cut
from treemem.tree.sealing import LEAF_PIECES_MAX, Piece, seal, split
from treemem.types import Span

LIMIT = 20
UNHURRIED = settings(deadline=None, max_examples=60)


def piece(
    position: int, tokens: int, uses: Sequence[str] = (), results: Sequence[str] = ()
) -> Piece:
    return Piece(position, f"m{position}", 0, 1, tokens, tuple(uses), tuple(results))


def leaf_ids(leaves: Sequence[Sequence[Piece]]) -> list[str]:
    return [
        ids.leaf_id(Span(part.message_id, part.start, part.end, part.tokens) for part in leaf)
        for leaf in leaves
    ]


def positions(leaves: Sequence[Sequence[Piece]]) -> list[int]:
    return [part.position for leaf in leaves for part in leaf]


def leaf_of(leaves: Sequence[Sequence[Piece]]) -> dict[int, int]:
    """The index of the leaf of each position."""
    return {part.position: number for number, leaf in enumerate(leaves) for part in leaf}


@st.composite
def histories(draw: st.DrawFn) -> list[Piece]:
    """Messages of all sizes; some call tools, some answer, in any order, or never."""
    calls = st.lists(st.sampled_from("abcdef"), max_size=2, unique=True)
    sizes = draw(st.lists(st.integers(0, LIMIT), max_size=60))
    return [piece(at, tokens, draw(calls), draw(calls)) for at, tokens in enumerate(sizes)]


@st.composite
def paired_histories(draw: st.DrawFn) -> tuple[list[Piece], list[tuple[int, int]]]:
    """Messages among which calls are answered before the next call, and the places of both."""
    pieces: list[Piece] = []
    pairs: list[tuple[int, int]] = []
    size = st.integers(0, LIMIT // 2)

    def say(sizes: st.SearchStrategy[int], most: int) -> None:
        for tokens in draw(st.lists(sizes, max_size=most)):
            pieces.append(piece(len(pieces), tokens))

    for number in range(draw(st.integers(1, 12))):
        say(size, 4)
        use = len(pieces)
        pieces.append(piece(use, draw(size), uses=[f"call{number}"]))
        say(st.integers(0, 4), 3)
        pairs.append((use, len(pieces)))
        pieces.append(piece(len(pieces), draw(size), results=[f"call{number}"]))
    say(size, 8)
    return pieces, pairs


# -- what every leaf is ----------------------------------------------------------------


@UNHURRIED
@given(histories())
def test_leaves_contain_every_message_once_and_in_order(history: list[Piece]) -> None:
    leaves = list(seal(history, LIMIT))
    sealed = positions(leaves)
    assert sealed == list(range(len(sealed)))


@UNHURRIED
@given(histories())
def test_no_leaf_is_over_the_limit_or_empty(history: list[Piece]) -> None:
    for leaf in seal(history, LIMIT):
        assert 1 <= len(leaf) <= LEAF_PIECES_MAX
        assert sum(part.tokens for part in leaf) <= LIMIT


@UNHURRIED
@given(histories())
def test_the_open_pieces_would_fit_into_one_leaf(history: list[Piece]) -> None:
    sealed = len(positions(list(seal(history, LIMIT))))
    assert sum(part.tokens for part in history[sealed:]) <= LIMIT


@UNHURRIED
@given(histories())
def test_the_same_messages_give_the_same_leaves(history: list[Piece]) -> None:
    assert leaf_ids(list(seal(history, LIMIT))) == leaf_ids(list(seal(history, LIMIT)))


# -- when, and in how many steps -------------------------------------------------------


@UNHURRIED
@given(histories(), st.lists(st.integers(0, 60), max_size=8))
def test_sealing_in_steps_gives_the_leaves_of_sealing_at_once(
    history: list[Piece], stops: list[int]
) -> None:
    in_steps: list[list[Piece]] = []
    for stop in [*sorted(stops), len(history)]:
        arrived = history[:stop]
        in_steps += seal(arrived[len(positions(in_steps)) :], LIMIT)
    assert leaf_ids(in_steps) == leaf_ids(list(seal(history, LIMIT)))


@UNHURRIED
@given(histories(), st.integers(0, 60))
def test_a_history_that_has_grown_keeps_its_leaves(history: list[Piece], length: int) -> None:
    before = leaf_ids(list(seal(history[:length], LIMIT)))
    assert leaf_ids(list(seal(history, LIMIT)))[: len(before)] == before


@UNHURRIED
@given(histories(), histories())
def test_a_fork_shares_the_leaves_of_the_common_beginning(
    history: list[Piece], other: list[Piece]
) -> None:
    """Where the messages differ from a place on, only leaves that reach it may differ."""
    at = len(history)
    fork = [*history, *(piece(at + part.position, part.tokens) for part in other)]
    common = list(seal(history, LIMIT))
    assert leaf_ids(list(seal(fork, LIMIT)))[: len(common)] == leaf_ids(common)


# -- calls and their results -----------------------------------------------------------


@UNHURRIED
@given(paired_histories())
def test_a_call_and_its_result_that_fit_into_one_leaf_are_never_separated(
    drawn: tuple[list[Piece], list[tuple[int, int]]],
) -> None:
    history, pairs = drawn
    number = leaf_of(list(seal(history, LIMIT)))
    for use, result in pairs:
        if sum(part.tokens for part in history[use : result + 1]) <= LIMIT:
            assert number.get(use) == number.get(result)


def test_the_cut_is_before_a_call_whose_result_no_longer_fits() -> None:
    history = [piece(0, 12), piece(1, 4, uses=["a"]), piece(2, 8, results=["a"])]
    assert [positions([leaf]) for leaf in seal(history, LIMIT)] == [[0]]


def test_the_cut_is_before_a_call_without_a_result_yet() -> None:
    history = [piece(0, 12), piece(1, 4, uses=["a"]), piece(2, 8)]
    assert [positions([leaf]) for leaf in seal(history, LIMIT)] == [[0]]


def test_parallel_calls_of_one_message_stay_with_all_their_results() -> None:
    history = [
        piece(0, 10), piece(1, 2, uses=["a", "b"]), piece(2, 4, results=["a"]),
        piece(3, 6, results=["b"]),
    ]  # fmt: skip
    assert [positions([leaf]) for leaf in seal(history, LIMIT)] == [[0]]


def test_a_pair_too_large_for_a_leaf_is_separated_and_nothing_is_lost() -> None:
    history = [piece(0, 12, uses=["a"]), piece(1, 12, results=["a"]), piece(2, 12)]
    assert [positions([leaf]) for leaf in seal(history, LIMIT)] == [[0], [1]]


def test_a_result_before_its_call_and_a_result_without_a_call_change_nothing() -> None:
    plain = [piece(at, 6) for at in range(9)]
    odd = [piece(at, 6) for at in range(9)]
    odd[1] = piece(1, 6, results=["a"])
    odd[2] = piece(2, 6, uses=["a"])
    odd[7] = piece(7, 6, results=["nobody"])
    assert leaf_ids(list(seal(odd, LIMIT))) == leaf_ids(list(seal(plain, LIMIT)))


def test_unanswered_calls_do_not_make_leaves_of_one_message() -> None:
    """Logs without results, or without their ids, are common; a leaf costs a summary."""
    history = [piece(at, 1, uses=[f"call{at}"]) for at in range(200)]
    leaves = list(seal(history, LIMIT))
    assert len(leaves) <= 2 * 200 // LIMIT


# -- the edges -------------------------------------------------------------------------


def test_a_leaf_has_no_more_pieces_than_its_maximum() -> None:
    history = [piece(at, 0) for at in range(2 * LEAF_PIECES_MAX + 1)]
    assert [len(leaf) for leaf in seal(history, LIMIT)] == [LEAF_PIECES_MAX] * 2


def test_no_messages_make_no_leaf() -> None:
    assert list(seal([], LIMIT)) == []


def test_a_message_that_fills_a_leaf_stays_open_until_the_next_one() -> None:
    assert list(seal([piece(0, LIMIT)], LIMIT)) == []
    assert positions(list(seal([piece(0, LIMIT), piece(1, 0)], LIMIT))) == []
    assert positions(list(seal([piece(0, LIMIT), piece(1, 1)], LIMIT))) == [0]


@UNHURRIED
@given(st.text(st.characters() | st.sampled_from(" \n.éあ😀"), max_size=300), st.integers(1, 30))
def test_the_stretches_of_a_split_message_join_to_it_exactly(text: str, limit: int) -> None:
    whole = Piece(3, "m", 0, len(text), count_tokens(text))
    pieces = split(whole, text, limit, cut)
    assert "".join(text[part.start : part.end] for part in pieces) == text
    assert [part.start for part in pieces] == [0, *(part.end for part in pieces[:-1])]
    assert all((part.position, part.message_id) == (3, "m") for part in pieces)
    for part in pieces:
        assert part.tokens == count_tokens(text[part.start : part.end])
        assert part.tokens <= limit or part.end - part.start == 1


def test_an_empty_message_is_one_empty_stretch() -> None:
    assert split(Piece(0, "m", 0, 0, 0), "", LIMIT, cut) == [Piece(0, "m", 0, 0, 0)]
