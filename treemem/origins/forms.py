"""Recognizes foreign text by its form: a program's output, data, letters, transcripts, templates.

Pure. Most forms show in a single line; others show in several lines of a block, which are the
lines between two blank ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

# What a form says about the lines after it. "data": they are foreign to the end of the block.
# "machine": until the user speaks again. "person" and "forged": to the end of the message.
Form = Literal["data", "machine", "person", "forged"]

# Characters of a line that are looked at.
LINE_CHARS_MAX = 400

_STAMP = r"\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d:\d\d|\d{1,2}:\d\d:\d\d\b"
_TEMPLATE = r"""
    .*<\|[\w\ ]{1,30}\|> | .*\[/?INST\] | .*<</?SYS>> | .*</?(?:start|end)_of_turn>
  | \#{2,4}\ (?:Instruction|Input|Response|System|Human|Assistant|User|Prompt)\b\W*$
  | \W{0,4}(?:Human|Assistant|User|System|Developer|AI|user|assistant|system|human|developer|tool)
      (?:\ \([^)\n]{0,40}\))?\W{0,3}:(?:\s|$)
"""
_OURS = r"""
    \W{0,3}Standing\ instructions\b | \[\d{1,6}\ \d{4}-\d\d-\d\d\b | \W{0,3}summary:\s
"""
_SHELL = r"""
    \s*[\w.-]+@[\w.-]+[:\ ][^\s$\#%]{0,100}\s?[$\#%]\s | \s*\$\ [\w./~] | >>>\ | PS\ [A-Z]:\\
  | [A-Z]:\\[^>]{0,120}> | \s*[❯➜]\s | \(\w[\w.-]*\)\ [^$]{0,60}\$\s
  | (?:fatal|error|warning|hint|remote|panic|usage|npm\ (?:ERR!|WARN|error|warn|notice)
      |make(?:\[\d+\])?|(?:ba|z|fi)?sh|sudo|ssh|curl|git|pip|ld|gcc|cargo|docker|E|W):\s
  | npm\ (?:ERR!|WARN|error|warn|notice)\s | ERROR: | On\ branch\ | remote:
  | (?:Segmentation\ fault|Killed|Aborted|Process\ finished|Permission\ denied)\b
"""
_FAILURE = r"""
    Traceback\ \(most | \s+File\ "[^"]{1,300}",\ line\ \d | \s+at\ [\w$.<>/\[\]]+\ ?[(:]
  | \s*(?:Caused\ by:\s|Exception\ in\ thread\s) | thread\ '[^']{1,80}'\ panicked
  | (?:[a-zA-Z_][\w]*[.:]+)*[A-Z]\w*(?:Error|Exception|Warning|Panic|Interrupt|Fault|Exit)
      (?:\ \[\w+\])?(?::\ |:?$)
  | goroutine\ \d+\ \[ | (?:error|warning)\[\w{1,12}\]: | \s*-->\ \S+:\d | \s+=\ (?:help|note):
  | \s*\d*\s+\|\s | [\w./\\@+-]{1,200}\.\w{1,5}[:(]\d+(?:[:,]\d+)?\)?:
  | (?:FAILED|PASSED|FAIL|PASS|ERROR|ok|not\ ok)\s+\S{0,100}[./:\d]\S* | ={3,}\ .{1,100}\ ={3,}
  | E\s{2,}\S | ---\ (?:FAIL|PASS|SKIP) | [✓✗✔✘✕●]\s
  | (?:=+\ )?\d+\ (?:passed|failed|skipped|errors?)\b.{0,60}\ in\ | Ran\ \d+\ tests?
  | test\ \S+\ \.\.\.\s
"""
_LOG = rf"""
    \W{{0,3}}(?:{_STAMP}) | [A-Z][a-z]{{2}}\s+\d{{1,2}}\ \d\d:\d\d:\d\d
  | \[?(?:DEBUG|TRACE|FATAL|CRITICAL|SEVERE|ERROR)\]?[\ :\t]
  | \[(?:INFO|WARN|WARNING|NOTICE)\] | (?:INFO|WARN|WARNING|NOTICE)\s+[\w.\[]
  | \d{{1,3}}(?:\.\d{{1,3}}){{3}}\s-\s | level=\w+\s
"""
_PATCH = r"""
    diff\ --(?:git|cc)\ | @@\ -\d | (?:---|\+\+\+)\ (?:[ab]/|/dev/null|\S+\.\w)
  | commit\ [0-9a-f]{7,40}\b | index\ [0-9a-f]{6,40}\.\.
  | (?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,12}\ \S
  | Author:\ .{1,100}@ | \t(?:modified|new\ file|deleted):
"""
_MARKUP = r"""
    \s*"[^"]{1,200}"\s*:\s?["\d\[{tfn-] | \s*[{\[]\s*(?:["{\[]|$) | \s*[}\])]+[;,)]*\s*$
  | \s*</?[A-Za-z!?][\w:.-]*(?:\s[^<>]{0,300})?/?> | (?:[A-Z][A-Z0-9_]*)=\S
  | (?:SELECT|INSERT\ INTO|UPDATE\ \w+\ SET|CREATE\ (?:TABLE|INDEX|VIEW)|DELETE\ FROM
      |ALTER\ TABLE|DROP\ TABLE)\s
  | \s*\|.*\|\s*$ | \s*[+|][-=+|:\ ]{3,}[+|]?\s*$ | \s*[│┃║├└┌╔╚┏┗]
  | .*\S[^\S\n]*\t\s*\S | \S{60,}$
"""
_CODE = r"""
    \s*(?:async\ )?def\ \w+\( | \s*class\ \w+\s*[({:] | \s*import\ [\w.]+(?:\ as\ \w+)?;?$
  | \s*import\ .{1,200}\ from\ ['"]
  | \s*from\ [\w.]+\ import\s | \#\s*include\b | \s*(?:export\ |async\ )*function\b\s*\w*\(
  | \s*(?:export\ )?(?:const|let|var)\ [\w{\[]+.*= | \s*export\ default\s | //\s | \s*/\*
  | \s+\*/ | \#!/ | @\w[\w.]*(?:\(.*)?$ | \s*(?![-*•])\S.{0,300}[(){}=\]].{0,100};\s*(?://.*)?$
  | \s*[^\s-].{0,300}\{\s*$ | \s*(?:pub\ )?fn\ \w+ | package\ [\w.]+;?$
  | \s*(?:public|private|protected|static)\ \w+\s
"""
_LETTER = r"""
    -{2,}\s*(?:Original|Forwarded|Ursprüngliche|Weitergeleitete|Message)\b
  | Begin\ forwarded\ message
  | (?:hi|hello|hey|dear|good\ (?:morning|evening|afternoon))\ +
      (?:all|team|everyone|everybody|folks|colleagues|customers?|sirs?|madam|members?|users?|tenants?|guests?|neighbou?rs?)
      \b.{0,30}$
  | (?:Liebe|Hallo)\ (?:alle|Team|zusammen|Kollegen|Kolleginnen)\b | Sehr\ geehrte
"""
_DOCUMENT = r"""
    \#{0,4}\s*\[?v?\d+\.\d+(?:\.\d+)+\]?(?:\s*[-–(].{0,40})?$ | \#{1,3}\s\[?v?\d+\.\d+
  | .*\(\#\d+\)\s*$ | [-*]\ (?:feat|fix|docs|chore|refactor|perf|build|ci)(?:\([\w-]+\))?!?:\s
  | \[?!\[.{0,80}\]\( | \#{1,3}\ (?:Installation|Install|Usage|Licen[cs]e|Contributing|Changelog|
      Getting\ [Ss]tarted|Quick\ ?[Ss]tart|Features)\s*$
  | .*\b(?:hereby|herein|thereof|hereinafter|pursuant\ to|WHEREAS|All\ rights\ reserved)\b
  | .*(?:©|\([cC]\)|[cC]opyright)\ \d{4} | .*\bAS\ IS\b | (?:§|Article|Section|Clause)\ ?\d+\b
  | \d+\.\d+(?:\.\d+)?\.?\ +[A-Z].*\bshall\b
"""
_CHAT = r"""
    \W{0,2}\d{1,2}[./]\d{1,2}[./]\d{2,4},?\ \d{1,2}:\d\d | <\w[\w-]*>\ \S | \[?\d\d:\d\d\]?\ <
  | \w[\w\ .'-]{0,30}\ +[\[(]?\d{1,2}:\d\d(?:\ ?[AaPp][Mm])?[\])]?$
  | \[\d{1,2}:\d\d\]\ \w
"""
# The forms of single lines, in order of precedence.
_LINE_FORMS: tuple[tuple[Form, str, int], ...] = (
    ("forged", "|".join((_TEMPLATE, _OURS)), 0),
    ("machine", "|".join((_SHELL, _FAILURE, _LOG, _PATCH)), 0),
    ("person", "|".join((_DOCUMENT, _CHAT)), 0),
    ("person", _LETTER, re.IGNORECASE),
    ("data", "|".join((_MARKUP, _CODE)), 0),
)
_LINES = tuple(
    (form, re.compile(pattern, re.VERBOSE | flags)) for form, pattern, flags in _LINE_FORMS
)
# A greeting that begins a letter below other words, and a closing with a name below it.
_SALUTATION = re.compile(
    r"(?:dear|hello|hi|good (?:day|morning|evening)|hallo|liebe[rs]?|guten tag|bonjour|cher|chère|"
    r"madame|monsieur|estimad[oa]|hola|buenos días|gentile|prezad[oa]|beste|kjære|kära|"
    r"уважаем\w+|здравствуйте)\b[^.?:]{0,50}[,!.]?$",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:(?:kind|best|warm) (?:regards|wishes)|regards|sincerely|yours (?:truly|sincerely|"
    r"faithfully)|mit freundlichen grüßen|viele grüße|liebe grüße|cordialement|bien à vous|"
    r"saludos|atentamente|un saludo|cordiali saluti|atenciosamente|met vriendelijke groet|"
    r"med vennlig hilsen|с уважением|sent from my \w+)\b.{0,20}$",
    re.IGNORECASE,
)
_MAIL_HEADER = re.compile(
    r"\W{0,3}(?:from|to|cc|bcc|date|sent|subject|reply-to|von|an|datum|gesendet|betreff|de|à|para|"
    r"objet|envoyé|asunto|fecha|enviado|da|oggetto|data|inviato|van|aan|onderwerp|verzonden|fra|"
    r"til|emne|från|till|ämne|от|кому|тема|дата|发件人|收件人|主题|日期|差出人|宛先|件名|日時)"
    r"\W{0,3}\s?[:：]\s?\S",
    re.IGNORECASE,
)
_TURN = re.compile(r"(?:\[[^\]\n]{1,30}\]\s*)?([^\W\d][\w.'’-]*(?: [\w.'’-]+){0,2}):\s\S")
_BULLET = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)]|\[[ xX]\])\s")
_INDENTED = re.compile(r"(?: {4}|\t| {1,3}\t)\s*\S")
_KEY = re.compile(r"\s*(?:- )?[\w.-]+\s?[:=](?:\s|$)")
_NESTED_KEY = re.compile(r"\s+(?:- )?[\w.-]+:(?:\s|$)")
_SECTION = re.compile(r"\[[\w.\" -]+\]\s*$")
_ASSIGNED = re.compile(r"\s*[\w.\[\]\"'-]+ ?[:+]?= ?\S")
# A number, a word or nothing: values of data rather than wishes.
_PLAIN_VALUE = re.compile(r"\s*[\w.-]+:\s*(?:[\d.]+|true|false|null|\"[^\"]*\"|\S+_\S+)$")
_CELLS = (re.compile(r"[^,]*(?:,(?! )[^,]*){2,}$"), re.compile(r"[^;]*(?:;(?! )[^;]*){2,}$"))
_DIGIT_GROUPS = re.compile(r"\d,\d{3}\b")
_SENTENCE_ENDS = tuple(".!?:;…。！？")
# The length of a line that was broken by hand or by a program, and how much the lines differ.
_WRAPPED_CHARS = range(55, 101)
_WRAPPED_SPREAD = 22
_WRAPPED_LINES_MIN = 3


def forms_of_block(lines: Sequence[str], *, is_first: bool) -> list[Form | None]:
    """The form of each line of a block, None for what may be typed.

    is_first: whether nothing precedes the block in its message.
    """
    heads = [line[:LINE_CHARS_MAX] for line in lines]
    forms = [_form_of_line(head) for head in heads]
    for start, form in _forms_of_several(heads, is_first=is_first):
        if forms[start] != "forged":
            forms[start] = form
    for index in _indented(heads):
        forms[index] = forms[index] or "data"
    return forms


def is_closing(line: str) -> bool:
    """Whether a line closes a letter.

    Example:
        >>> is_closing("Kind regards,")
        True
    """
    return _CLOSING.match(line.strip()) is not None


def turn_label(line: str) -> str | None:
    """The name before a colon at the head of a line that may be a turn of a conversation.

    Example:
        >>> turn_label("Ana: did it work?"), turn_label("It works.")
        ('Ana', None)
    """
    match = _TURN.match(line)
    return match[1] if match else None


def _form_of_line(line: str) -> Form | None:
    return next((form for form, pattern in _LINES if pattern.match(line)), None)


def _forms_of_several(lines: Sequence[str], *, is_first: bool) -> list[tuple[int, Form]]:
    """The forms that show in several lines, each with the index of its first line."""
    found: list[tuple[int, Form]] = []
    headers = [i for i, line in enumerate(lines) if _MAIL_HEADER.match(line)]
    found += [(a, "person") for a, b in pairwise(headers) if b == a + 1][:1]
    if not is_first and _SALUTATION.match(lines[0].strip()):
        found.append((0, "person"))
    # A typed name, too, may follow a closing, so the letter begins with the block.
    if len(lines) > 1 and any(is_closing(line) for line in lines[1:]):
        found.append((0, "person"))
    for first, second in pairwise(range(len(lines))):
        if _is_record(lines[first], lines[second]):
            found.append((first, "data"))
    if _is_wrapped(lines) and (not is_first or len(lines) > _WRAPPED_LINES_MIN):
        found.append((0, "person"))
    return found


def _is_record(line: str, following: str) -> bool:
    """Whether two lines are data: rows of values, nested keys, a section with its settings."""
    if any(cells.match(line) and cells.match(following) for cells in _CELLS):
        return not _DIGIT_GROUPS.search(line)
    if _SECTION.match(line):
        return _KEY.match(following) is not None
    if line.strip() == "---":
        return _KEY.match(following) is not None
    if _ASSIGNED.match(line) and _ASSIGNED.match(following):
        return True
    if _PLAIN_VALUE.match(line) and _PLAIN_VALUE.match(following):
        return True
    return bool(_KEY.match(line) and line.rstrip().endswith(":") and _NESTED_KEY.match(following))


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Whether a block is prose broken into lines of like length, as nobody types in a chat."""
    if len(lines) < _WRAPPED_LINES_MIN or any(_BULLET.match(line) for line in lines):
        return False
    lengths = [len(line.rstrip()) for line in lines[:-1]]
    is_even = max(lengths) - min(lengths) <= _WRAPPED_SPREAD
    broken = sum(not line.rstrip().endswith(_SENTENCE_ENDS) for line in lines[:-1])
    return is_even and 2 * broken > len(lengths) and all(n in _WRAPPED_CHARS for n in lengths)


def _indented(lines: Sequence[str]) -> list[int]:
    """The indexes of the indented lines that do not continue a list."""
    found = []
    in_list = False
    for index, line in enumerate(lines):
        if _BULLET.match(line):
            in_list = True
        elif not _INDENTED.match(line):
            in_list = in_list and line[:1].isspace()
        elif not in_list:
            found.append(index)
    return found


def transcript_labels(labels: Sequence[str | None]) -> frozenset[str]:
    """The names of the speakers among the labels of a message's lines: two or more, of whom one
    speaks again.

    Example:
        >>> sorted(transcript_labels(["Ana", None, "Ben", "Ana"]))
        ['Ana', 'Ben']
    """
    counts = Counter(label for label in labels if label)
    is_talk = len(counts) > 1 and max(counts.values()) > 1
    return frozenset(counts) if is_talk else frozenset()
