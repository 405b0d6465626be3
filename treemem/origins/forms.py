"""Recognizes foreign text by the form of a line: a program's output, data, letters, templates.

Pure. One table, in order of precedence. What shows in several lines only is in blocks.py.
"""

from __future__ import annotations

import re
from typing import Literal

from treemem.patterns import lazy_regex

# What a form says about the lines after it. "data": they are foreign to the end of the block.
# "machine": until the user speaks again. "person" and "forged": to the end of the message.
Form = Literal["data", "machine", "person", "forged"]

# Characters of a line that are looked at.
LINE_CHARS_MAX = 400

_STAMP = r"\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d:\d\d|\d{1,2}:\d\d:\d\d\b"
_TEMPLATE = r"""
    \#{2,4}\ (?:Instruction|Input|Response|System|Human|Assistant|User|Prompt)\b\W*$
  | \W{0,4}(?i:human|assistant|user|system|developer|ai)
      (?:\ \([^)\n]{0,40}\))?\W{0,3}:(?:\s|$)
  | \W{0,4}(?i:(?:important|new|urgent|admin)\ )?(?i:system)
      (?i:\ (?:message|prompt|note|notice|instructions?|override|update))?\W{0,3}[:\]]
"""
_TEMPLATE_WITHIN = r"""
    .*<\|[\w\ ]{1,30}\|> | .*\[/?INST\] | .*<</?SYS>> | .*</?(?:start|end)_of_turn>
"""
_OURS = r"""
    \W{0,3}Standing\ instructions\b | \[\d{1,6}\ \d{4}-\d\d-\d\d\b
  | \W{0,3}(?:summary|system-reminder):\s
  | \W{0,3}(?i:relevant\ memor(?:y|ies)|(?:what\ (?:i|we)\ )?know[ns]?\ about\ (?:the|this)\ user
      |(?:user|saved|stored)\ (?:memory|memories|facts|preferences))\b.{0,20}:\s*$
"""
_SHELL = r"""
    \s*[\w.-]+@[\w.-]+[:\ ][^\s$\#%]{0,100}\s?[$\#%]\s | \s*\$\ [\w./~] | >>>\ | PS\ [A-Z]:\\
  | [A-Z]:\\[^>]{0,120}> | \s*[❯➜]\s | \(\w[\w.-]*\)\ [^$]{0,60}\$\s
  | (?:fatal|error|warning|hint|remote|panic|usage|npm\ (?:ERR!|WARN|error|warn|notice)
      |make(?:\[\d+\])?|(?:ba|z|fi)?sh|sudo|ssh|curl|git|pip|ld|gcc|cargo|docker|E|W|Warning):\s
  | Error(?:\ (?:response|in|at|on|while|when|\d)\b.{0,60})?:\s
  | (?:Uncaught|Unhandled|Invariant|Fatal|Internal|Syntax|Runtime)\ [A-Za-z\ ]{1,40}:
  | Step\ \d+/\d+\ : | \s*--->\ | cat\ \S+$ | (?:GET|POST|PUT|DELETE|PATCH|HEAD)\ \S+\ HTTP/
  | HTTP/\d | (?:added|removed|changed|audited)\ \d+\ packages?
  | Merge\ (?:branch|pull\ request|remote)
  | npm\ (?:ERR!|WARN|error|warn|notice)\s | ERROR: | On\ branch\ | remote:
  | (?:Segmentation\ fault|Killed|Aborted|Process\ finished|Permission\ denied)\b
"""
_FAILURE = r"""
    Traceback\ \(most | \s+File\ "[^"]{1,300}",\ line\ \d | \s+at\ [\w$.<>/\[\]]+\ ?[(:]
  | \s*(?:Caused\ by:\s|Exception\ in\ thread\s) | thread\ '[^']{1,80}'\ panicked
  | (?:[a-zA-Z_][\w]*[.:]+)*(?:[A-Z]\w*(?:Error|Exception|Warning|Panic|Interrupt|Fault|Exit)
      |Panic|Exception)
      (?:\ \[\w+\])?(?::\ |:?$)
  | [a-z_]\w*(?:\.\w+)*\.[A-Z]\w+:\s | goroutine\ \d+\ \[
  | (?:error|warning)\[\w{1,12}\]: | \s*-->\ \S+:\d | \s+=\ (?:help|note):
  | \s*\d*\s+\|\s | [\w./\\@+-]{1,200}\.\w{1,5}[:(]\d+(?:[:,]\d+)?\)?:
  | (?:FAILED|PASSED|FAIL|PASS|ERROR|ok|not\ ok)\s+\S{0,100}[./:\d]\S* | ={3,}\ .{1,100}\ ={3,}
  | E\s{2,}\S | ---\ (?:FAIL|PASS|SKIP) | [✓✗✔✘✕●]\s
  | (?:=+\ )?\d+\ (?:passed|failed|skipped|errors?)\b.{0,60}\ in\ | Ran\ \d+\ tests?
  | test\ \S+\ \.\.\.\s | ::\w+\s | \#\#\[\w+\] | [EWCF]\d{3,5}:\s
  | [VDIWEF]/[\w.$-]+(?:\(\s*\d+\))?:\s
"""
_LOG = rf"""
    \W{{0,3}}(?:{_STAMP}) | [A-Z][a-z]{{2}}\s+\d{{1,2}}\ \d\d:\d\d:\d\d
  | \[(?:DEBUG|TRACE|FATAL|CRITICAL|SEVERE|ERROR|INFO|WARN|WARNING|NOTICE)\]
  | (?:DEBUG|TRACE|FATAL|CRITICAL|SEVERE|ERROR)(?::\s|\s\s|\t|\s\[|\s+[\w.\/$-]+\s?[:\-(\]]|\ \d)
  | (?:INFO|WARN|WARNING|NOTICE)\s+[\w.\[]
  | (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{{0,6}}\ .{{0,14}}\d\d?:\d\d | [IWEF]\d{{4}}\ \d\d:\d\d
  | (?:<\d+>)?\[\s*\d+\.\d+\]\s
  | \d{{1,3}}(?:\.\d{{1,3}}){{3}}\s-\s | level=\w+\s
"""
_PATCH = r"""
    diff\ --(?:git|cc)\ | @@\ -\d | (?:---|\+\+\+)\ (?:[ab]/|/dev/null|\S+\.\w)
  | commit\ [0-9a-f]{7,40}\b | index\ [0-9a-f]{6,40}\.\.
  | [*|/\\\ ]{0,8}(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,12}\ \S
  | (?:feat|chore|refactor|(?:fix|docs|perf|build|ci|test|style)(?=[(!]))(?:\([\w-]+\))?!?:\s
  | Author:\ .{1,100}@ | To\ \S+[:/]\S+\.git | \s!\ \[ | stash@\{ | (?:<{7}|>{7})\s
  | \t(?:modified|new\ file|deleted):
"""
_MARKUP = r"""
    \s*"[^"]{1,200}"\s*:\s?["\d\[{tfn-] | \s*[{\[]\s*(?:["{\[]|$) | \s*[}\])]+[;,)]*\s*$
  | \s*</?[A-Za-z!?][\w:.-]*(?:\s[^<>]{0,300})?/?> | (?:[A-Z][A-Z0-9_]*)=\S
  | (?:SELECT|INSERT\ INTO|UPDATE\ \w+\ SET|CREATE\ (?:TABLE|INDEX|VIEW)|DELETE\ FROM
      |ALTER\ TABLE|DROP\ TABLE)\s
  | \s*\|.*\|\s*$ | \s*[+|][-=+|:\ ]{3,}[+|]?\s*$ | \s*[│┃║├└┌╔╚┏┗]
  | \S{60,}$ | \s*&(?:lt|gt|amp|quot|\#\d+); | [-=]{3,}(?:\ +[-=]{3,})+\s*$
  | "[^"]*"(?:[,;]"[^"]*")+\s*$ | BEGIN:\w+ | \{\\rtf | \\(?:begin|section|documentclass|item)\b
"""
_CODE = r"""
    \s*(?:async\ )?def\ \w+\( | \s*class\ \w+\s*[({:] | \s*import\ [\w.]+(?:\ as\ \w+)?;?$
  | \s*import\ .{1,200}\ from\ ['"]
  | \s*from\ [\w.]+\ import\s | \#\s*include\b | \s*(?:export\ |async\ )*function\b\s*\w*\(
  | \s*(?:export\ )?(?:const|let|var)\ [\w{\[]+.*= | \s*export\ default\s | //\s | \s*/\*
  | \s+\*/ | \#!/ | @\w[\w.]*(?:\(.*)?$ | \s*(?:pub\ )?fn\ \w+ | package\ [\w.]+;?$
  | \s*(?:public|private|protected|static)\ \w+\s
"""
_DATA_WITHIN = r"""
    .*\S[^\S\n]*\t\s*\S | \s*[^\s-].{0,300}\{\s*$
  | \s*(?![-*•])\S.{0,300}[(){}=\]].{0,100};\s*(?://.*)?$
"""
_LETTER = r"""
    -{2,}\s*(?:Original|Forwarded|Ursprüngliche|Weitergeleitete|Message)\b
  | Begin\ forwarded\ message
  | (?:hi|hello|hey|dear|good\ (?:morning|evening|afternoon))\ +
      (?:all|team|everyone|everybody|folks|colleagues|customers?|sirs?|madam|members?|users?|tenants?
      |guests?|neighbou?rs?)(?:,.{0,30}|\W*)$
  | To\ whom\ it\ may\ concern | Sent\ from\ my\ \w+
  | (?:Liebe|Hallo)\ (?:alle|Team|zusammen|Kollegen|Kolleginnen)\b | Sehr\ geehrte
"""
_DOCUMENT = r"""
    \#{0,4}\s*\[?v?\d+\.\d+(?:\.\d+)+\]?(?:\s*[-–(].{0,40})?$ | \#{1,3}\s\[?v?\d+\.\d+
  | \#{1,3}\ \S+\.\w{2,4}\s*$
  | [-*]\ (?:feat|fix|docs|chore|refactor|perf|build|ci)(?:\([\w-]+\))?!?:\s
  | \[?!\[.{0,80}\]\( | \#{1,3}\ (?:Installation|Install|Usage|Licen[cs]e|Contributing|Changelog|
      Getting\ [Ss]tarted|Quick\ ?[Ss]tart|Features)\s*$
  | (?:§|Article|Section|Clause)\ ?\d+\b
  | \d+\.\d+(?:\.\d+)?\.?\ +[A-Z].*\bshall\b
  | (?:\#+\ |\*\*)?(?:(?:[A-Z][\w'’.-]*|of|and|&|the|for)\ ){1,6}
      (?:Licen[cs]e|Agreement|Service|Use|Policy|Conditions|Conduct|Contract|Notice|Handbook|Regulations?)
      \W*$
"""
_DOCUMENT_WITHIN = r"""
    .*\(\#\d+\)\s*$ | .*\bby\ @\w[\w-]*\ in\s
  | .*\b(?:hereby|herein|thereof|hereinafter|pursuant\ to|WHEREAS|All\ rights\ reserved)\b
  | .*(?:©|\([cC]\)|[cC]opyright)\ \d{4} | .*\bAS\ IS\b
"""
_TIMED_CHAT = r"""
    \W{0,2}\d{1,2}[./]\d{1,2}[./]\d{2,4},?\ \d{1,2}:\d\d | \[?\d\d:\d\d\]?\ <
  | \w[\w\ .'-]{0,30},?\ +[\[(]?\d{1,2}:\d\d(?:\ ?[AaPp][Mm])?[\])]?$
  | \[\d{1,2}:\d\d\]\ \w | \[?\d{1,2}:\d\d(?::\d\d)?\]?\ (?:[-–]\ )?\w[\w\ .'-]{0,30}:\s
  | \w[\w\ .'-]{0,30}\ \(\d{1,2}:\d\d[^)]{0,6}\):
"""
_CHAT = r"""
    <\w[\w-]*>\ \S | \w[\w-]{1,20}>\s\S
  | @?[\w-]{1,39}\ (?:(?:re)?opened\ this|commented|requested\ changes|approved\ these
      |left\ a\ comment|(?:asked|posted|edited)\ this)\b
      .{0,40}(?:\bago|yesterday|\bon\ [A-Z][a-z]{2}.{0,14})$
  | (?:commented|posted|answered|asked|edited|opened)\ .{1,24}\ ago$ | [ur]/[\w-]{2,21}\s*(?:$|[•·])
"""
# The forms of single lines, in order of precedence. A pattern that looks for its words all along
# the line is tried only if the line has one of the texts given with it.
_LINE_FORMS: tuple[tuple[Form, tuple[str, ...], str, int], ...] = (
    ("forged", (), "|".join((_TEMPLATE, _OURS)), 0),
    ("forged", ("<|", "INST]", "SYS>>", "_of_turn>"), _TEMPLATE_WITHIN, 0),
    ("machine", (), "|".join((_SHELL, _FAILURE, _LOG, _PATCH)), 0),
    ("person", (), "|".join((_DOCUMENT, _CHAT)), 0),
    ("person", (":",), _TIMED_CHAT, 0),
    ("person", ("(#", "by @", "here", "pursuant", "WHEREAS", "rights reserved", "©", "(c)", "(C)",
                "opyright", "AS IS"), _DOCUMENT_WITHIN, 0),
    ("person", (), _LETTER, re.IGNORECASE),
    ("data", (), "|".join((_MARKUP, _CODE)), 0),
    ("data", ("\t", "{", ";"), _DATA_WITHIN, 0),
)  # fmt: skip
_LINES = tuple(
    (form, needed, lazy_regex(pattern, re.VERBOSE | flags))
    for form, needed, pattern, flags in _LINE_FORMS
)


def form_of_line(line: str) -> Form | None:
    """The form of a line, None for what may be typed.

    Example:
        >>> form_of_line("fatal: no such bay"), form_of_line("Never push to main.")
        ('machine', None)
    """
    head = line[:LINE_CHARS_MAX]
    has = head.__contains__
    for form, needed, pattern in _LINES:
        if (not needed or any(map(has, needed))) and pattern.match(head):
            return form
    return None
