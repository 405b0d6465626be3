"""Decides which keys and names of columns may be shown in a report: those that name a field.

Pure. A log may have data as keys: ids, paths, addresses, the names of people. A key is hidden if it
looks like one, or stands in an object whose values are all alike, as in a map from names, which may
have one alone.

Tested in tests/importers/test_explaining.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from treemem.patterns import lazy_regex

# In place of a key that may be data.
HIDDEN = "<hidden>"

_FIELD = lazy_regex(r"[A-Za-z_$][A-Za-z_$-]*")
_WORD = lazy_regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHARS_MAX = 40
# Words of which names of fields are made. Only a key with one of them is shown in a map.
_COMMON = frozenset(
    """
    accepted action active added agent answer api app args arguments arg at attachment attachments
    audio author avatar average base body bot branch cache cached call calls category channel chat
    chats child children choice client code color command commands comment completion config
    content context conversation conversations cost count counts created creation current custom
    cwd data date deleted delta description detail details device dir directory document documents
    duration edited editor email enabled end ended entries entry env error errors event events
    expired extension extra feedback field fields file filename files finish finished first flag
    flags folder format from full function git group groups hash head header headers height hidden
    history host icon id ids image images index info input instructions is item items key keys
    kind label language last length level limit line lines link links list loading local location
    log logs main max media member members message messages meta metadata method mime min mode
    model models modified name names next node nodes note number object objects offset options
    order origin original output owner page parameters params parent part parts path paths payload
    permission phone pinned platform position previous prompt prompts properties provider query
    question rating read reason reasoning recipient record records ref reference references reply
    repo repository request requests response responses result results retry role room root run
    score seen sender sent seq sequence service session sessions settings shared signature size
    snippet source sources space speaker stack start started state stats status step steps stop
    stream style subject summary system tag tags task tasks team temperature text thinking thought
    thread threads time timestamp timestamps title to token tokens tool tools total trace turn
    turns type types unread updated uri url urls usage use used user users uuid value values
    version video view visible width window with workspace writes zone
""".split()
)


def shown(key: str) -> str:
    """The key if it looks like the name of a field, else HIDDEN.

    Example:
        >>> shown("sentAt"), shown("C01AB2")
        ('sentAt', '<hidden>')
    """
    return key if len(key) <= _CHARS_MAX and _FIELD.fullmatch(key) else HIDDEN


def shown_keys(value: Mapping[str, object]) -> dict[str, str]:
    """The keys of an object that may be a map, each with what is shown of it. In a map, only keys
    of common words are shown.

    Example:
        >>> list(shown_keys({"ana": 1, "ben": 2}).values())
        ['<hidden>', '<hidden>']
        >>> shown_keys({"input_tokens": 1, "output_tokens": 2})["input_tokens"]
        'input_tokens'
    """
    is_map = len(set(map(_kind, value.values()))) == 1
    return {key: HIDDEN if is_map and not _has_common_word(key) else shown(key) for key in value}


def _has_common_word(key: str) -> bool:
    return any(word.lower() in _COMMON for word in _WORD.findall(key))


def _kind(value: object) -> object:
    return int if isinstance(value, float) else type(value)
