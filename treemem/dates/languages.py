"""Brings expressions of time in other languages into the English words that phrases.py reads.

Pure. Words are exchanged one by one and keep their places; then adjectives that follow their noun
("lundi dernier") and prepositions that mean "ago" ("vor zwei Wochen") change sides. Numbers are
known up to twelve. Tested in tests/dates/test_languages.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from treemem.dates.names import SEASONS
from treemem.dates.phrases import MONTHS, UNITS, WEEKDAYS, Word, split
from treemem.origins.languages import language_of
from treemem.patterns import lazy_regex

# For each language, "english: words of the language". "_" joins the words of one expression; "-"
# stands for nothing. "ago" before a number goes behind its unit.
_WORDS = {
    "de": """
        yesterday: gestern; the_day_before_yesterday: vorgestern; the_week_before_last:
        vorletzte_woche; today: heute; tomorrow: morgen; the_day_after_tomorrow: übermorgen;
        this_morning: heute_morgen heute_früh; tonight: heute_abend; yesterday_evening:
        gestern_abend; last: letzte letzten letzter letztes letztem vergangene vergangenen
        vergangener vergangenes vorige vorigen voriger voriges; next: nächste nächsten nächster
        nächstes nächstem kommende kommenden kommendes kommender; this: diese diesen dieser dieses
        diesem; week: woche; weeks: wochen; month: monat; months: monate monaten; year: jahr; years:
        jahre jahren; day: tag; days: tage tagen; weekend: wochenende; night: nacht; ago: vor; in:
        im in; on: am; between: zwischen; and: und; from: vom; to: bis; since: seit; -: den dem der
        die das; a: ein eine einem einer; two: zwei; three: drei; four: vier; five: fünf; six:
        sechs; seven: sieben; eight: acht; nine: neun; ten: zehn; eleven: elf; twelve: zwölf;
        summer: sommer; spring: frühling frühjahr; autumn: herbst; winter: winter; monday: montag;
        tuesday: dienstag; wednesday: mittwoch; thursday: donnerstag; friday: freitag; saturday:
        samstag sonnabend; sunday: sonntag; january: januar jänner; february: februar; march: märz;
        may: mai; june: juni; july: juli; october: oktober; december: dezember; christmas:
        weihnachten; easter: ostern""",
    "fr": """
        yesterday: hier; the_day_before_yesterday: avant-hier; today: aujourd'hui; tomorrow: demain;
        the_day_after_tomorrow: après-demain; this_morning: ce_matin; tonight: ce_soir;
        yesterday_evening: hier_soir; last_night: la_nuit_dernière; last: dernier dernière passé
        passée; next: prochain prochaine; this: ce cet cette; week: semaine; weeks: semaines; month:
        mois; year: an année; years: ans années; day: jour; days: jours; weekend: week-end; ago:
        il_y_a; in: dans en; on: le; between: entre; and: et; from: du; to: au; since: depuis; -:
        la l; a: un une; two: deux; three: trois; four: quatre; five: cinq; six: six; seven: sept;
        eight: huit; nine: neuf; ten: dix; eleven: onze; twelve: douze; summer: été; spring:
        printemps; autumn: automne; winter: hiver; monday: lundi; tuesday: mardi; wednesday:
        mercredi; thursday: jeudi; friday: vendredi; saturday: samedi; sunday: dimanche; january:
        janvier; february: février; march: mars; april: avril; may: mai; june: juin; july: juillet;
        august: août; september: septembre; october: octobre; november: novembre; december:
        décembre; christmas: noël; easter: pâques""",
    "es": """
        yesterday: ayer; the_day_before_yesterday: anteayer antier antes_de_ayer; today: hoy;
        tomorrow: mañana; the_day_after_tomorrow: pasado_mañana; this_morning: esta_mañana; tonight:
        esta_noche; last_night: anoche; last: pasado pasada último última; next: próximo próxima;
        this: este esta; week: semana; weeks: semanas; month: mes; months: meses; year: año; years:
        años; day: día; days: días; weekend: fin_de_semana; ago: hace; in: en dentro_de; on: el; of:
        de del; between: entre; and: y; since: desde; to: hasta; -: la; a: un una; two: dos;
        three: tres; four: cuatro; five: cinco; six: seis; seven: siete; eight: ocho; nine: nueve;
        ten: diez; eleven: once; twelve: doce; summer: verano; spring: primavera; autumn: otoño;
        winter: invierno; monday: lunes; tuesday: martes; wednesday: miércoles; thursday: jueves;
        friday: viernes; saturday: sábado; sunday: domingo; january: enero; february: febrero;
        march: marzo; april: abril; may: mayo; june: junio; july: julio; august: agosto; september:
        septiembre setiembre; october: octubre; november: noviembre; december: diciembre; christmas:
        navidad; easter: pascua""",
    "it": """
        yesterday: ieri; the_day_before_yesterday: altro_ieri altroieri avantieri; today: oggi;
        tomorrow: domani; the_day_after_tomorrow: dopodomani; this_morning: stamattina stamani;
        tonight: stasera stanotte; yesterday_evening: ieri_sera; last: scorso scorsa passato passata
        ultimo ultima; next: prossimo prossima; this: questo questa; week: settimana; weeks:
        settimane; month: mese; months: mesi; year: anno; years: anni; day: giorno; days: giorni;
        weekend: weekend fine_settimana; ago: fa; in: tra fra in nel; on: il lo; of: di; between:
        fra; and: e; -: la; since: dal da; a: un una; two: due; three: tre; four: quattro; five:
        cinque; six: sei; seven: sette; eight: otto; nine: nove; ten: dieci; eleven: undici; twelve:
        dodici; summer: estate; spring: primavera; autumn: autunno; winter: inverno; monday: lunedì;
        tuesday: martedì; wednesday: mercoledì; thursday: giovedì; friday: venerdì; saturday:
        sabato; sunday: domenica; january: gennaio; february: febbraio; march: marzo; april: aprile;
        may: maggio; june: giugno; july: luglio; august: agosto; september: settembre; october:
        ottobre; november: novembre; december: dicembre; christmas: natale; easter: pasqua""",
    "pt": """
        yesterday: ontem; the_day_before_yesterday: anteontem; today: hoje; tomorrow: amanhã;
        the_day_after_tomorrow: depois_de_amanhã; this_morning: esta_manhã hoje_de_manhã; tonight:
        esta_noite; last: passado passada último última; next: próximo próxima; this: este esta
        neste nesta; week: semana; weeks: semanas; month: mês; months: meses; year: ano; years:
        anos; day: dia; days: dias; weekend: fim_de_semana; ago: há atrás; in: em daqui_a no na; of:
        de do; between: entre; and: e; since: desde; a: um uma; two: dois duas; three: três; four:
        quatro; five: cinco; six: seis; seven: sete; eight: oito; nine: nove; ten: dez; eleven:
        onze; twelve: doze; summer: verão; spring: primavera; autumn: outono; winter: inverno;
        monday: segunda-feira; tuesday: terça-feira; wednesday: quarta-feira; thursday:
        quinta-feira; friday: sexta-feira; saturday: sábado; sunday: domingo; january: janeiro;
        february: fevereiro; march: março; april: abril; may: maio; june: junho; july: julho;
        august: agosto; september: setembro; october: outubro; november: novembro; december:
        dezembro; christmas: natal; easter: páscoa; on: dia""",
    "nl": """
        yesterday: gisteren; the_day_before_yesterday: eergisteren; today: vandaag; tomorrow:
        morgen; the_day_after_tomorrow: overmorgen; this_morning: vanochtend vanmorgen; tonight:
        vanavond; last_night: vannacht; yesterday_evening: gisteravond; last: vorige afgelopen
        laatste; next: volgende komende; this: deze dit; week: week; weeks: weken; month: maand;
        months: maanden; year: jaar; years: jaren; day: dag; days: dagen; weekend: weekend; ago:
        geleden; in: over in; on: op; between: tussen; and: en; from: van; to: tot; since: sinds;
        -: de het; a: een; two: twee; three: drie; four: vier; five: vijf; six: zes; seven: zeven;
        eight: acht; nine: negen; ten: tien; eleven: elf; twelve: twaalf; summer: zomer; spring:
        lente voorjaar; autumn: herfst najaar; winter: winter; monday: maandag; tuesday: dinsdag;
        wednesday: woensdag; thursday: donderdag; friday: vrijdag; saturday: zaterdag; sunday:
        zondag; january: januari; february: februari; march: maart; may: mei; june: juni; july:
        juli; august: augustus; october: oktober; christmas: kerst kerstmis; easter: pasen""",
}
# Characters of a text that tell its language.
_CHARS_MAX = 400
_RELATIVE = ("last", "next")
_NOUNS = frozenset((
    *UNITS, *WEEKDAYS, *MONTHS, *SEASONS, "weekend", "christmas", "easter",
))  # fmt: skip
# Words that tell nothing of a language, and those that an English expression is recognized by.
_SMALL = frozenset(("", "-", "a", *"in on of and to from since between".split()))
_ENGLISH = _NOUNS | frozenset("ago last next this today tonight yesterday tomorrow".split()) | {
    f"{unit}{s}" for unit in UNITS for s in ("", "s")
}  # fmt: skip
_ELISION = lazy_regex(r"(?:l|d|dell|nell|dall|quest)'(?=\w)")


@dataclass(frozen=True, slots=True)
class _Language:
    """english: of each expression of one or more words. longest: the most words of one."""

    english: dict[tuple[str, ...], str]
    longest: int


@functools.cache
def _languages() -> dict[str, _Language]:
    languages = {}
    for name, lines in _WORDS.items():
        english: dict[tuple[str, ...], str] = {}
        for line in lines.split(";"):
            meaning, _, words = line.partition(":")
            for word in words.split():
                english.setdefault(tuple(word.split("_")), meaning.strip(" -\n").replace("_", " "))
        languages[name] = _Language(english, max(map(len, english)))
    return languages


def meanings() -> Iterator[tuple[str, str]]:
    """Yields (expression, its English) of all languages, in lower case."""
    for language in _languages().values():
        for words, english in language.english.items():
            yield " ".join(words), english


def of(text: str) -> str | None:
    """The name of the language of a text, by its expressions of time and its frequent words; None
    for English, and for languages whose expressions are not known.

    Example:
        >>> of("What did we say?"), of("Was haben wir letzte Woche gesagt?")
        (None, 'de')
    """
    likely = language_of(text, is_lead=True)
    if likely == "en":
        return None
    words = [word.text for word in split(text[:_CHARS_MAX])]
    best, most = None, sum(word in _ENGLISH for word in words)
    for name, language in _languages().items():
        said = sum(language.english.get((word,), "-") not in _SMALL for word in words)
        if said and said + (name == likely) > most:
            best, most = name, said + (name == likely)
    return best


def split_in(text: str, language: str | None) -> list[Word]:
    """The words of a text, as phrases.split returns them, with expressions of time in English.
    Their places are those of the words that they stand for.

    Example:
        >>> " ".join(word.text for word in split_in("Vor zwei Wochen, am Freitag", "de"))
        'two weeks ago on friday'
    """
    words = split(text)
    return words if language is None else _in_english(words, _languages()[language])


def _in_english(words: list[Word], language: _Language) -> list[Word]:
    said: list[Word] = []
    keys = [_ELISION.sub("", word.text) for word in words]
    i = 0
    while i < len(words):
        if words[i].before == ". " and keys[i - 1].isdigit():  # "4. Dezember"
            words[i] = replace(words[i], before=" ")
        for length in range(min(language.longest, len(words) - i), 0, -1):
            english = language.english.get(tuple(keys[i : i + length]))
            if english is not None:
                said += _replaced(words[i : i + length], english)
                i += length
                break
        else:
            said.append(words[i])
            i += 1
    return _reordered(said)


def _replaced(words: list[Word], english: str) -> list[Word]:
    """The words of an English expression at the place of others."""
    whole = replace(words[0], end=words[-1].end)
    is_capital = words[0].raw[:1].isupper()
    return [
        replace(whole, text=text, raw=text.title() if is_capital or text in _NOUNS else text,
                before=whole.before if not number else " ")
        for number, text in enumerate(english.split())
    ]  # fmt: skip


def _reordered(words: list[Word]) -> list[Word]:
    """The words in the order of English: "last monday" for "monday last", "two weeks ago" for "ago
    two weeks"."""
    for i in range(len(words)):
        before = words[i - 1].text if i else ""
        text, *after = (word.text for word in words[i : i + 3])
        if text in _RELATIVE and before in _NOUNS and not _NOUNS.intersection(after[:1]):
            _exchange(words, i - 1, [text, before])
        elif text == "ago" and after[1:] and after[1].removesuffix("s") in UNITS:
            _exchange(words, i, [*after, "ago"])
            if before in _RELATIVE:  # "il s'est passé …"
                words[i - 1] = replace(words[i - 1], text="-")
    return words


def _exchange(words: list[Word], start: int, texts: list[str]) -> None:
    """Gives words from number start on other texts, and all of them the place of the whole."""
    end = start + len(texts)
    first, last = words[start].start, words[end - 1].end
    for at, text in zip(range(start, end), texts, strict=True):
        is_capital = words[at].raw[:1].isupper()
        words[at] = replace(words[at], text=text, raw=text.title() if is_capital else text,
                            start=first, end=last)  # fmt: skip
