"""Recognizes rules for good in languages other than English, by their commonest phrases.

Each language has phrases for "from now on" and "always", words that address an assistant, phrases
for "I prefer", and words that begin a sentence about somebody else.
Tested in tests/rules/test_wording.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from treemem.patterns import lazy_regex

_FLAGS = re.IGNORECASE | re.VERBOSE
_WORD = lazy_regex(r"[^\W\d_]+(?:'[^\W\d_]+)?")
# Of ASCII in small letters, these, and a space for all else.
_LETTERS = bytes(code if chr(code).islower() else ord(" ") for code in range(256))


@dataclass(frozen=True)
class _Language:
    """now_on, always: for good. please: anywhere in a request. addressed: the head of one.
    prefers: a preference of the user's. others: the heads of sentences about others."""

    now_on: str
    always: str
    please: str
    addressed: str
    prefers: str
    others: str


_LANGUAGES = (
    _Language(  # German
        r"ab\ (?:jetzt|sofort|heute)|von\ (?:nun|jetzt)\ an|(?:zu)?künftig|in\ zukunft|fortan",
        r"immer|nie(?:mals)?|stets|jedes\ mal|grundsätzlich",
        r"bitte",
        r"""antworte|antworten\ sie|schreibe?|verwende|benutze|nutze|nimm|mache?|gib|sage?
        |frage?|halte|zeige?|sprich|rede|formatiere|teste|lass|vermeide|achte|denke?|erkläre?|füge
        |ich\ (?:möchte|will|wünsche\ mir),?\ dass|du\ (?:sollst|musst|darfst)|sie\ (?:sollen
        |müssen|dürfen)|führe|prüfe|nenne?|lies
        |rechne""",
        r"ich\ (?:bevorzuge|mag\ lieber|hätte\ lieber|möchte\ (?:immer|nie)|will\ (?:immer|nie))",
        r"der|die|das|dem|den|mein\w*|unser\w*|er|es|wir|ich|man|ein\w*",
    ),
    _Language(  # French
        r"désormais|dorénavant|à\ (?:partir\ de\ maintenant|l'avenir|compter\ de\ maintenant)",
        r"toujours|jamais|(?:à\ )?chaque\ fois",
        r"s'il\ (?:te|vous)\ pla[iî]t",
        r"""veuillez|je\ (?:veux|voudrais|souhaite)\ que|merci\ de|répond(?:s|ez)|écri(?:s|vez)
        |utilise[sz]?
        |parle[sz]?|fai(?:s|tes)|demande[sz]?|donne[sz]?|évite[sz]?|ne\ \w+|n'\w+|(?:tu
        |vous)\ dev?\w+
        |mets|mettez|garde[sz]?|explique[sz]?|commence[sz]?|vérifie[sz]?""",
        r"je\ (?:préfère|préférerais|veux\ toujours)|j'aime\ mieux",
        r"le|la|les|l'\w+|mon|ma|mes|notre|nos|il|elle|ils|elles|on|nous|je|un|une|ce|cette",
    ),
    _Language(  # Spanish
        r"a\ partir\ de\ ahora|de\ ahora\ en\ adelante|en\ (?:el\ futuro|adelante)",
        r"siempre|nunca|jamás|cada\ vez",
        r"por\ favor",
        r"""responde|contesta|quiero\ que|uses|escribas|hagas|respondas|toques|escribe|usa
        |utiliza|habla|haz|pregunta|pon|evita|explica|da
        |no\ \w+|(?:tú\ )?(?:debes|tienes\ que)|mantén|respóndeme|contéstame|háblame|muestra""",
        r"(?:yo\ )?(?:prefiero|preferiría)",
        r"el|la|los|las|mi|mis|nuestr\w+|él|ella|ellos|ellas|nosotros|yo|un|una|este|esta",
    ),
    _Language(  # Italian
        r"d'ora\ in\ (?:poi|avanti)|da\ (?:ora|adesso)\ in\ (?:poi|avanti)|in\ futuro",
        r"sempre|mai|ogni\ volta",
        r"per\ favore",
        r"""rispondi\w*|voglio\ che|scrivi\w*|usa|utilizza|parla\w*|fai|chiedi\w*|metti|evita|spiega
        |non\ \w+|(?:tu\ )?devi|tieni|mostra\w*""",
        r"(?:io\ )?(?:preferisco|preferirei)",
        r"il|lo|la|i|gli|le|mio|mia|miei|mie|nostr\w+|lui|lei|loro|noi|io|un|una|questo|questa",
    ),
    _Language(  # Portuguese
        r"a\ partir\ de\ agora|de\ agora\ em\ diante|daqui\ (?:para|em)\ (?:frente|diante)",
        r"sempre|nunca|jamais|(?:toda|cada)\ vez",
        r"por\ favor",
        r"""respond[ae]|quero\ que|escrev[ae]|us[ae]|utilize|fal[ae]|faça|pergunte|evite|explique
        |não\ \w+|(?:você\ )?dev[ea]|mantenha|mostre""",
        r"(?:eu\ )?(?:prefiro|preferiria)",
        r"o|a|os|as|meu|minha|meus|minhas|noss\w+|ele|ela|eles|elas|nós|eu|um|uma|este|esta",
    ),
    _Language(  # Dutch
        r"vanaf\ nu|voortaan|in\ (?:de\ toekomst|het\ vervolg)|van\ nu\ af\ aan",
        r"altijd|nooit|elke\ keer|telkens",
        r"alsjeblieft|alstublieft",
        r"""antwoord|ik\ wil\ dat|schrijf|gebruik|spreek|praat|maak|vraag|zet|vermijd|geef
        |houd?|je\ moet|u\ moet|laat|leg""",
        r"ik\ (?:geef\ de\ voorkeur|heb\ liever|wil\ (?:altijd|nooit))",
        r"de|het|mijn|onze?|hij|zij|wij|we|ik|een|deze|dit",
    ),
    _Language(  # Scandinavian languages
        r"från\ och\ med\ nu|hädanefter|i\ framtiden|fra\ nå\ av|fra\ nu\ af|fremover|i\ fremtiden",
        r"alltid|aldrig|aldri|altid|varje\ gång|hver\ gang",
        r"snälla|vær\ så\ snill",
        r"svara?|skriv|använd|bruk|brug|tala|snakk|snak|du\ (?:ska|må|skal)",
        r"jag\ föredrar|jeg\ (?:foretrekker|foretrækker)",
        r"den|det|min|mitt|vår|vårt|han|hon|hun|vi|jag|jeg|en|ett|et",
    ),
    _Language(  # Polish
        r"od\ (?:teraz|dziś|dzisiaj)|(?:w|na)\ przyszłoś\w+",
        r"zawsze|nigdy|za\ każdym\ razem",
        r"proszę",
        r"odpowiadaj|pisz|używaj|mów|rób|pytaj|unikaj|nie\ \w+|musisz|dodawaj",
        r"(?:ja\ )?(?:wolę|preferuję)",
        r"mój|moja|moje|nasz\w*|on|ona|oni|my|ja|ten|ta|to",
    ),
    _Language(  # Russian
        r"отныне|впредь|с\ (?:этого\ момента|сегодняшнего\ дня)|в\ (?:дальнейшем|будущем)",
        r"всегда|никогда|каждый\ раз",
        r"пожалуйста",
        r"отвечай\w*|пиши\w*|используй\w*|говори\w*|делай\w*|спрашивай\w*|не\ \w+",
        r"я\ предпочитаю|мне\ больше\ нравится",
        r"мой|моя|мои|наш\w*|он|она|они|мы|я|этот|эта",
    ),
    _Language(  # Turkish
        r"bundan\ (?:sonra|böyle)|gelecekte",
        r"her\ zaman|asla|daima|her\ seferinde",
        r"lütfen",
        r"cevap\ ver|yanıtla|yaz|kullan|konuş|.*\b(?:ver|yaz|kullan|yanıtla|konuş)(?:ma)?(?=\W*$)",
        r".*\btercih\ ederim",
        r"ben|biz|o|onlar|bu|kardeşim|annem|babam",
    ),
)  # fmt: skip
# Chinese, Japanese and Korean: without spaces, or with endings instead of words.
_FAR_EAST = lazy_regex(
    r"^(?:请|以后|今后|从现在(?:起|开始)|永远|始终|每次|不要再|別再|别再|請|從現在)"
    r".*(?:请|請|用|使用|不要|别|別|回答|回复|回覆|写|寫|说|說|问|問)"
    r"|^(?:请|請)(?:你)?(?:总是|總是|始终|一直|永远|永遠|务必|每次)|^我(?:更)?(?:喜欢|喜歡|偏好|希望你(?:总是|以后))"
    r"|(?:今後|これから|必ず|常に|いつも|絶対に|二度と).*(?:ください|下さい|して|しないで|使って|答えて)"
    r"|(?:앞으로|항상|절대|언제나|지금부터).*(?:세요|해\s?줘|줘|마|말아|주세요|십시오)"
)


def is_lasting(sentence: str) -> bool:
    """Whether a sentence in one of these languages is a rule for good.

    Example:
        >>> is_lasting("Antworte mir immer auf Deutsch."), is_lasting("Meine Mutter kocht immer.")
        (True, False)
    """
    text = sentence.replace("’", "'").strip("\"'„“” ")
    if text.endswith(("?", "？")):
        return False
    if not text.isascii() and _FAR_EAST.search(text):
        return True
    return not _WORDS.isdisjoint(words_in(text)) and any(
        pattern.search(text) for pattern in _PATTERNS
    )


def may_last(text: str, words: frozenset[str]) -> bool:
    """Whether a text may be a rule for is_lasting: a quick look at its words_in."""
    return not _WORDS.isdisjoint(words) or not text.isascii()


def words_in(text: str) -> frozenset[str]:
    """The words of a text in lower case, in letters only.

    Example:
        >>> sorted(words_in("Don't count 12."))
        ['count', "don't"]
    """
    lower = text.lower()
    if lower.isascii() and "'" not in lower:
        # Of bytes, many times faster than of a string.
        return frozenset(lower.encode("ascii").translate(_LETTERS).decode("ascii").split())
    return frozenset(_WORD.findall(lower))


def _pattern(language: _Language) -> re.Pattern[str]:
    """Matches a rule: a preference, an address with "always", or "from now on" that is not about
    somebody else."""
    lead = rf"(?:(?:{language.now_on}|{language.always})\W+)?"
    always = rf"(?=.*(?<!\w)(?:{language.now_on}|{language.always})(?!\w))"
    return lazy_regex(
        rf"""^\W*(?:
        (?:{language.prefers})(?!\w)
        |{always}.*?(?<!\w)(?:{language.please})(?!\w)
        |{always}{lead}(?:{language.addressed})(?!\w)
        |(?:{language.now_on})\W+(?!(?:{language.others})(?!\w))\w
        )""",
        _FLAGS,
    )


_PATTERNS = tuple(map(_pattern, _LANGUAGES))
# A sentence without any of these words is no rule. A look-up is faster than the expressions.
_WORDS = frozenset(
    """
    jetzt sofort heute nun künftig zukünftig zukunft fortan immer nie niemals stets jedes
    grundsätzlich bevorzuge lieber désormais dorénavant maintenant avenir toujours jamais chaque
    préfère préférerais mieux ahora adelante futuro siempre nunca jamás cada prefiero preferiría
    poi avanti sempre mai ogni preferisco preferirei agora diante frente doravante toda preferiria
    nu voortaan toekomst vervolg aan altijd nooit elke telkens voorkeur liever hädanefter framtiden
    nå fremover fremtiden alltid aldrig aldri altid varje hver föredrar foretrekker foretrækker
    teraz dziś dzisiaj przyszłość przyszłości zawsze nigdy każdym wolę preferuję отныне впредь
    момента сегодняшнего дальнейшем будущем всегда никогда каждый предпочитаю нравится sonra böyle
    gelecekte zaman asla daima seferinde ederim
    """.split()
)
