"""Recognizes the words by which a user introduces a text that somebody else wrote.

Pure. "The console says: …" introduces another's words; "From now on: …" and "My rules: …" do not.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from treemem.patterns import Clue, lazy_regex

# Whose words follow: a program's, after which the user may speak again, or a person's, after which
# nobody can tell.
Voice = Literal["machine", "person"]


class Introduction(NamedTuple):
    """An introduction in a line. end: where the foreign text begins, counted from the line's
    start; the line's length if it begins on a later line. is_task: whether it says what to do
    with the text, so that nothing but the text follows."""

    end: int
    voice: Voice
    is_task: bool = False


# Characters of a line, and of a clause before its colon, that are looked at.
_LINE_MAX = 2_000
_CLAUSE_MAX = 160
_I = re.IGNORECASE
_COLON = lazy_regex(r":(?=\s|$)|：|(?<=\bfollowing)\.(?=\s*$)", re.MULTILINE)
_COLON_NEEDED = (":", "：", "following.")

_MACHINE_NOUN = (
    r"logs?|outputs?|errors?|error\ messages?|exceptions?|tracebacks?|stack\ ?traces?|consoles?|"
    r"terminals?|compilers?|linters?|std(?:out|err)|warnings?|diffs?|patch|code|snippets?|config|"
    r"json|yaml|toml|xml|html|csv|sql|quer(?:y|ies)|schema|tables?|data|results?|functions?|"
    r"scripts?|Ausgabe|Fehler(?:meldung)?|Protokoll|erreur|sortie|journal|salida|registro|"
    r"ошибка|лог|вывод|日志|错误|输出|ログ|エラー"
)
_TEXT_NOUN = (
    r"(?:e-?)?mails?|messages?|letters?|read-?me|docs?|documentation|manual|pages?|articles?|texts?|"
    r"posts?|comments?|reviews?|threads?|tickets?|issues?|transcripts?|chats?|conversations?|"
    r"files?|responses?|reply|answers?|quotes?|excerpts?|passages?|paragraphs?|abstract|essays?|"
    r"draft|sentences?|policy|contract|licen[cs]e|terms|changelog|release\ notes|report|prompt|"
    r"descriptions?|spec|wiki|handbook|tweets?|sms|notices?|signs?|poem|story|speech|document|"
    r"minutes|invoice|notification|feedback|(?:meeting|voice)\ notes?|notes\ from|memo|job\ ad|"
    r"advert|caption|docstring|scan|section|chapter|proverb|saying|lyrics|flyer|leaflet|newsletter|"
    r"announcement|screenshot|dialogue|Nachricht|Brief|Artikel|Antwort|Schreiben|courriel|"
    r"lettre|texte|réponse|mensaje|correo|carta|texto|respuesta|письмо|сообщение|текст|ответ|"
    r"邮件|消息|文章|文本|メール|文章|メッセージ"
)
# Nouns by which users name their own words.
_OWN = lazy_regex(
    r"\b(?:rules?|preferences?|requirements?|instructions?|constraints?|conventions?|guidelines?|"
    r"wish(?:es)?|goals?|tasks?|plans?|to-?dos?|steps?|ideas?|thoughts?|questions?|conditions?|"
    r"checklists?|style|format|way|order|structure|points?|things?|rest|Regeln?|Wünsche|règles?|reglas?)"
    r"$|\b(?:my|our)\ (?:\w+\ )?(?:rules|preferences|requirements|wishes|conventions|ideas)\b",
    _I,
)
_OWN_NOTES = lazy_regex(
    r"^\W*(?:my|our)\ (?:\w+\ )?(?:notes?|feedback|comments?|answers?|memo)$", _I
)
# A topic of the user's own: "For commit messages: …", "In code: …".
_TOPIC = lazy_regex(
    r"^\W*(?:(?:and|also)\ )?(?:for|about|regarding|concerning|on|as\ for|when|if|in|with|für|bei|"
    r"pour|para)\b"
    r"(?!.*\b(?:says?|said|wrote|writes|told|tells|shows?|prints?|gets?|got|see|gives|gave|fails|"
    r"failed|throws|returns?|reads|replied|answered)\b)",
    _I,
)
_MODAL = lazy_regex(
    r"^\W*(?:please\ )?(?:always|never|don'?t|do\ not)\b"
    r"|\b(?:must|should|shall|has\ to|have\ to)\b"
    r"|\b(?:always|never)\ \w+(?:\ \w+)?$",
    _I,
)
# The user's own earlier words: "as I said".
_MYSELF = lazy_regex(
    r"\b(?:I|we)(?:'ve|'d)?(?:\ \w+){0,2}\ (?:said|say|told|tell|wrote|mean|meant|mentioned|ask|"
    r"asked|repeat)\b|\b(?:ich|wir)\ (?:\w+\ )?(?:sagte|meine)\b|\bj'ai\ dit\b"
    r"|\bwhat\ (?:I|we)(?:'d|'m|'re)?\ (?:\w+\ )?(?:see|think|want|need|know|did|do|like|propose|"
    r"plan|suggest|expect|have\ in\ mind|care\ about)$",
    _I,
)
# Somebody speaks: a subject, a verb, and at most six words more. The verbs that are nouns as well
# follow no article and no preposition.
_NO_NOUN = r"(?<!\bmy\ )(?<!\bthe\ )(?<!\byour\ )(?<!\bfor\ )(?<!\ba\ )(?<!\bof\ )(?<!\bin\ )"
_PERSON_SPEAKS = lazy_regex(
    r"[\w)>\"”'’]\ (?:says?|said|writes|wrote|written|tells|told|replied|answered|responds|"
    r"responded|asks|asked|stated|posted|commented|announced|claimed|insists|insisted|warns|"
    r"warned|texted|sent|mentioned|explained|explains|suggested|suggests|recommends|demanded|"
    r"goes|went|continued|added|declared|"
    r"sagt|sagte|schreibt|schrieb|meint|meinte|antwortet|antwortete|steht|geschrieben|dit|écrit|"
    r"répond|répondu|dice|dijo|escribe|escribió|respondió|scrive|scritto|disse|escreveu|"
    r"zegt|schreef|skrev|sier|сказала?|говорит|пишет|написала?|ответила?"
    rf"|{_NO_NOUN}(?:replies|answers|states|reads|posts|claims|demands))\b(?:\ \S+){{0,6}}$",
    _I,
)
_MACHINE_SPEAKS = lazy_regex(
    r"\w\ (?:printed|returned|showed|gives|gave|throws|threw|fails|failed|crashes|crashed|"
    r"complains|complained|reported|dies|died|logged|happens|appears|pops\ up"
    rf"|{_NO_NOUN}(?:prints?|outputs?|returns|shows?|reports|logs))\b(?:\ \S+){{0,6}}$",
    _I,
)
_RECEIVES = lazy_regex(
    r"\b(?:gets?|got|getting|sees?|saw|seeing)(?:\ (?:is|back|now|instead|here)){0,2}$"
    r"|\b(?:gets?|got|getting|sees?|saw|seeing)\ (?:this|these|that|it|the\ following)"
    r"(?:\ \S+){0,3}$",
    _I,
)
_SPEAKS = (
    _PERSON_SPEAKS,
    _MACHINE_SPEAKS,
    _RECEIVES,
    lazy_regex(r"(?:说|写道|回复|回答|提示|表示|显示|言った|書いた|言う|と表示|返信)$"),
)
_AFTER_RUNNING = lazy_regex(
    r"^\W*(?:after|when|on|by|upon)\ (?:i\ )?(?:run|ran|running|executing|building|starting|doing|"
    r"try|trying|click|clicking)\b",
    _I,
)
_FORWARDED = lazy_regex(r"^\W*(?:(?:fwd?|wg|tr|re)$|forwarded\b)", _I)
# A file, as a title of its content.
_FILE = lazy_regex(r"^\W*[\w./-]+\.\w{1,8}(?:\ (?:contents?|file|says|now|currently))?$|\d\.\d+$")

_POLITE = (
    r"^\W*(?:(?:please|pls|plz|can|could|would|will|you|kindly|now|and|then|also|ok|okay|so|hey|"
    r"hi|hello|just|quickly|help|me|to|i|need|want|like|your|task|is|bitte|kannst|können|du|sie|"
    r"mir|peux-tu|puedes|por\ favor|пожалуйста|请)\b[\s,]*){0,7}"
)
_READ = (
    r"translate|summari[sz]e|sum\ up|proof-?read|review|explain|rewrite|re-?phrase|paraphrase|"
    r"shorten|simplify|polish|improve|analy[sz]e|interpret|classify|transcribe|decode|tl;?dr|"
    r"(?:reply|respond|react)\ to|critique|spell-?check|grammar-?check|correct|convert|"
    r"(?:make|turn|change|put)\ (?:this|these)|"
    r"(?:fix|check)\ (?:the\ |my\ |this\ |these\ )?(?:grammar|"
    r"spelling|typos?|punctuation|wording|sentences?|text|german|english|french|spanish)|"
    r"answer\ (?:this|these|the\ following)|"
    r"übersetze?|erkläre?|korrigiere?|fasse?|prüfe?|traduis|traduire|traduisez|résume|corrige|"
    r"explique|traduce|traducir|resume|explica|traduci|riassumi|traduza|resuma|vertaal|oversett|"
    r"переведи|объясни|исправь|翻译|总结|解释|翻訳|要約|.*訳して"
)
_READS = lazy_regex(rf"{_POLITE}(?:{_READ})(?![a-z])", _I)
# A whole line that asks for work on a text without saying on which: the text follows.
_TEXT_TASK = lazy_regex(
    rf"{_POLITE}(?:translate|summari[sz]e|sum\ (?:(?:this|it|that)\ )?up|proof-?read|re-?phrase|"
    r"paraphrase|transcribe|spell-?check|tl;?dr|"
    r"(?:fix|check|correct)\ (?:the\ |my\ )?(?:grammar|spelling|typos?|punctuation|wording)|"
    r"(?:make|get)\ (?:this|it)\ (?:\w+er|more\ \w+|sound\ \w+)|"
    r"(?:in)?to\ (?:german|english|french|spanish|italian|portuguese|dutch|russian|chinese|"
    r"japanese)|"
    r"improve\ (?:my|this|the)\ (?:prompt|text|wording|draft)|"
    r"(?:implement|do|fix|solve|work\ on|look\ at)\ (?:this\ )?(?:ticket|issue|story|bug\ report)"
    r"(?:\ \S+)?|"
    r"address\ (?:the|this|these)\ (?:\w+\ )?comments?\b.*|(?:copied|pasted|copy)\ from\b.*|"
    r"from\ (?:the|our|their)\ \w+|my\ system\ prompt)"
    r"(?:,?\ (?:it|this|that|please|pls|plz|briefly|quickly|for\ me|(?:in)?to\ \w+|in\ \w+))*\W*$",
    _I,
)
_READS_ANYWHERE = lazy_regex(rf"\b(?:{_READ}|summary\ of|translation\ of)\b", _I)
_ENDS_READING = lazy_regex(rf"\b(?:{_READ})$", _I)
_THIS = lazy_regex(
    r"\b(?:this|these|that|the\ following|below|diese[nrsm]?|das|folgende[nrs]?|ceci|cette|este|"
    r"esto|questo|dit|dette|это|этот)\b",
    _I,
)
_HERE = lazy_regex(
    r"\b(?:here(?:'s|\ is|\ are|\ comes)|below|attached|following|pasted?|copied|copy\ of|quoting|"
    r"excerpts?\ from|forwarded|fwd|fw|got|get|received|found|saw|hier(?:\ ist|\ sind)?|anbei|"
    r"voici|ci-dessous|aquí|ecco|вот|以下)\b",
    _I,
)
# A text of somebody's, or one that is known: "Ann's comment", "the prompt".
_OF_SOMEBODY = lazy_regex(
    r"\w['’]s?\ \w+(?:\ \w+)?$|\ (?:from|by)\ |\bin\ the\b|^\W*the\ (?:prompt|errors?|message|text|"
    r"mail|quote|article)$",
    _I,
)
_SOURCE = lazy_regex(
    r"^\W*(?:from|according\ to|per|via|quote\ from|taken\ from|source|laut|selon|según)\b"
    r"(?!\ (?:now|today|here|then|there|this|tomorrow|next|me)\b)",
    _I,
)
_MACHINE = lazy_regex(rf"\b(?:{_MACHINE_NOUN})\b", _I)
_TEXT = lazy_regex(rf"\b(?:{_TEXT_NOUN})\b", _I)
_ENDS_MACHINE = lazy_regex(
    rf"(?:^|\b)(?:{_MACHINE_NOUN})(?:\ (?:from|of|in|for|on|at|i|when|after)\b.*)?$", _I
)
_ENDS_TEXT = lazy_regex(
    rf"(?:^|\b)(?:{_TEXT_NOUN})(?:\ (?:from|of|in|for|on|at|by|to|i|we|he|she|they|when|after|that|"
    rf"von|vom|de|du|von)\b.*)?$",
    _I,
)
# Nouns that introduce another's words on their own, even with the words on the same line.
_ALONE = lazy_regex(
    r"(?:邮件|消息|文章|日志|错误|メール|メッセージ|ログ|エラー)$|"
    r"^\W*(?:(?:the|an?|full|my|build|test|server|same|complete|whole|latest|new|next|console|"
    r"error|log|stack|sample|expected|actual|current|and|then|now|die|der|das)[\ ,]+){0,4}"
    r"(?:errors?|error\ message|logs?|outputs?|tracebacks?|stack\ ?traces?|std(?:out|err)|"
    r"transcript|excerpt|quote|(?:e-?)?mail|read-?me|changelog|log\ file|"
    r"Fehler(?:meldung)?|Ausgabe|erreur|ошибка|错误|エラー)$",
    _I,
)
_ALONE_IN = lazy_regex(
    r"^\W*(?:compile\ |compiler\ |build\ |server\ |full\ |the\ |my\ )?"
    r"(?:errors?|outputs?|logs?|traceback)"
    r"(?:\ (?:on|in|from|at)\ .*)?$",
    _I,
)
# A line without a colon that leads to a text: the pronoun alone is the object …
_BARE_THIS = lazy_regex(
    r"\b(?:this|these|the\ following|dies(?:es)?|ceci|esto|это)"
    r"(?:\ one)?(?=\W*$|\ (?:please|pls|for\ me|to\ me|in|into|to|from|on|at|by|so|today|yesterday|"
    r"mean|means|say|says|about|like|as|here|the\ other|last)\b)",
    _I,
)
_GOT_THIS = Clue(
    lazy_regex(
        r"\b(?:got|get|getting|received|found|saw|seen|read|posted|sent|wrote|came\ across|copied|"
        r"stumbled|bekommen|gefunden|erhalten|reçu|trouvé|recibí|encontré)\b",
        _I,
    ),
    ("got", "get", "received", "found", "saw", "seen", "read", "posted", "sent", "wrote", "across",
     "copied", "stumbled", "bekommen", "gefunden", "erhalten", "reçu", "trouvé", "recibí",
     "encontré"),
)  # fmt: skip
_PRESENTS = lazy_regex(r"^\W*(?:and\ )?(?:here|below|attached|this\ is|got|hier|voici)\b", _I)
_FOLLOWING = lazy_regex(r"\b(?:following|below|this|these)\b", _I)
_ENDS_HERE = lazy_regex(r"\b(?:here|below)$", _I)
_ENDS_SPEAKING = Clue(
    lazy_regex(
        r"\b(?:got|gives|gave|prints|printed|returns|returned|shows|throws|"
        r"(?:fail|crash|die|stop)(?:s|ed)?\ "
        r"with)$|"
        r"\w\ (?:said|says|wrote|writes|replied|answered|posted|texted|sagte|schrieb|écrit|dijo|"
        r"escribió)"
        r"(?:\ \w+){0,2}$",
        _I,
    ),
    ("got", "gives", "gave", "print", "return", "shows", "throws", " with", " said", " says",
     " wr", " replied", " answered", " posted", " texted", " sagte", " schrieb", " écrit", " dijo",
     " escribió"),
)  # fmt: skip
# … or it asks what to do with a text.
_ASKS_PATTERN = lazy_regex(
    rf"\b(?:what|was|que|qué|что)\b.*\b(?:{_TEXT_NOUN}|{_MACHINE_NOUN}|this|that|das|he|she|it)\b"
    r".{0,40}\b(?:say|says|mean|means|heißt|bedeutet|dire|dice|decir|значит)\b"
    r"|\bmeaning\ of\b|\bwas\ (?:bedeutet|heißt|soll|ist)\ (?:das|dies)\b"
    r"|\bdas\ (?:hier\ )?(?:mal\ |bitte\ )?(?:übersetzen|erklären|zusammenfassen|korrigieren)\b"
    r"|veut\ dire\ (?:ceci|ça)|significa\ esto|esto\ significa|什么意思|どういう意味"
    r"|\bwhat(?:'s|\ is|s|\ are)?\ (?:this|these)\b(?:\ (?:about|then|now))?\W*$"
    r"|\bwhat\ (?:do|did)\ you\ (?:think|make)\ of\ (?:this|these|the)\b"
    r"|\bis\ (?:this|that)\ (?:a\ )?(?:phishing|spam|scam|legit|real|true|correct|good|ok|okay|"
    r"right|important|wise)\b"
    r"|\bhow\ (?:do|should|can|would|to)\ (?:i\ |we\ )?(?:answer|reply|respond|react)\b"
    r"|^\W*(?:any\ )?(?:thoughts|opinions?|feedback|ideas|clue)(?:\ on\ this)?\W*$"
    r"|\b(?:seen|read)\ this\b",
    _I,
)
_ASKS = Clue(
    _ASKS_PATTERN,
    ("say", "mean", "heißt", "bedeutet", "dire", "dice", "decir", "значит", "was ", "das ", "what",
     "significa", "什么意思", "どういう意味", "is this", "is that", "how ", "thought", "opinion",
     "feedback", "ideas", "clue", "seen this", "read this"),
)  # fmt: skip


def introduction_in(line: str, at: int = 0) -> Introduction | None:
    """The first introduction with a colon in a line, from a character on.

    Example:
        >>> introduction_in("Look. The sign says: Never smoke.")
        Introduction(end=20, voice='person', is_task=False)
        >>> introduction_in("From now on: never smoke.")
    """
    line = line[:_LINE_MAX]
    if not any(map(line.__contains__, _COLON_NEEDED)):
        return None
    for colon in _COLON.finditer(line, at):
        before = line[max(at, colon.start() - _CLAUSE_MAX) : colon.start()]
        clause = re.split(r"[.!?;]\s+|:\s+|。|！|？", before)[-1].strip(" \t*_-#•")
        inline = bool(line[colon.end() :].strip(" \t*_"))
        if _introduces(clause, inline=inline):
            is_task = _READS.match(clause) is not None
            return Introduction(colon.end(), _voice(clause), is_task)
    return None


def announces(line: str) -> Voice | None:
    """The voice of the text that a line without a colon at its end leads to, if it leads to one.

    Example:
        >>> announces("Can you summarize this?"), announces("Can you summarize our plan?")
        ('person', None)
    """
    sentence = re.split(r"[.!?]\s+", line.strip()[-_CLAUSE_MAX:])[-1]
    stem = sentence.rstrip(" .!?,…")
    if _TEXT_TASK.match(line.strip()[:_CLAUSE_MAX]):
        return "person"
    if not _ASKS.is_in(stem) and (
        not _leads(stem, sentence.rstrip()) or _MYSELF.search(stem) or _MODAL.search(stem)
    ):
        return None
    return _voice(stem)


def _leads(stem: str, sentence: str) -> bool:
    """Whether a sentence leads to a text. stem: the sentence without the signs at its end. What is
    quick to tell comes first."""
    if sentence == stem and (_ALONE_IN.match(stem) or _ENDS_SPEAKING.is_in(stem)):
        return True
    presents = _PRESENTS.match(stem) or (sentence.endswith("?") and _FOLLOWING.search(stem))
    if presents and _names_text(stem):
        return True
    is_task = _READS.match(stem)
    if _ENDS_HERE.search(stem) and (is_task or _MACHINE.search(stem) or _TEXT.search(stem)):
        return True
    if not is_task and not _GOT_THIS.is_in(stem):
        return False
    return bool(_BARE_THIS.search(stem) or (_THIS.search(stem) and _names_text(stem)))


def _introduces(clause: str, *, inline: bool) -> bool:
    """Whether another's words follow a clause and its colon. inline: on the same line."""
    if not inline and any(told.search(clause) for told in (_FILE, _ENDS_READING, _AFTER_RUNNING)):
        return True
    if not clause or _TOPIC.match(clause) or _OWN_NOTES.match(clause):
        return False
    if _MODAL.search(clause) or _MYSELF.search(clause):
        return False
    if any(speaks.search(clause) for speaks in _SPEAKS):
        return True
    if _OWN.search(clause):
        return False
    if any(told.match(clause) for told in (_READS, _SOURCE, _FORWARDED)):
        return True
    if _ALONE.search(clause) or _ASKS.is_in(clause):
        return True
    shown = any(shows.search(clause) for shows in (_THIS, _HERE, _OF_SOMEBODY)) or not inline
    if shown and _names_text(clause):
        return True
    return bool(_THIS.search(clause) and _READS_ANYWHERE.search(clause))


def _names_text(clause: str) -> bool:
    return bool(_ENDS_MACHINE.search(clause) or _ENDS_TEXT.search(clause))


def _voice(clause: str) -> Voice:
    """Whose words a clause introduces: a program's only if it names no text of a person's."""
    if _TEXT.search(_MACHINE.sub("", clause)):
        return "person"
    is_machine = _MACHINE.search(clause) or _MACHINE_SPEAKS.search(clause)
    return "machine" if is_machine else "person"
