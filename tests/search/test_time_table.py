"""A table of questions, and the days that each is limited to, in seven languages."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from treemem.search.date_filter import find

BERLIN = ZoneInfo("Europe/Berlin")

# The base date and time, and for each question after it the first and the last day.
TABLE = """
2026-11-28 12:00 Saturday
what did I watch two Fridays ago?                     2026-11-20
what did I watch a fortnight ago?                     2026-11-11 2026-11-17
what did I watch the Friday before last?              2026-11-20
what did I watch the week before last?                2026-11-09 2026-11-15
what did I watch the last few days?                   2026-11-24 2026-11-28
what did I watch on the 13th?                         2026-11-13
what did I watch at the beginning of November?        2026-11-01 2026-11-10
what did I watch in early November?                   2026-11-01 2026-11-10
what did I watch this Friday?                         2026-11-27
what did I watch on 13/11/2026?                       2026-11-13
what did I watch on 13.11.2026?                       2026-11-13
what did I watch on 2026/11/13?                       2026-11-13
what did I watch last summer?                         2026-06-01 2026-08-31
what did I watch in Q3?                               2026-07-01 2026-09-30
what did I watch around Christmas?                    2025-12-17 2026-01-02
what did I watch between the 3rd and the 5th?         2026-11-03 2026-11-05
what did we say on Tuesday of last week?              2026-11-17
what did we say on Tuesday last week?                 2026-11-17
who called this past Monday?                          2026-11-23
who called this past weekend?                         2026-11-21 2026-11-22
what did we do this weekend?                          2026-11-28 2026-11-29

2026-03-02 08:00 Monday
what did Ana say yesterday?                           2026-03-01
what did Ana say the day before yesterday?            2026-02-28
what did Ana say last Friday?                         2026-02-27
what did Ana say on Friday?                           2026-02-27
what did Ana say on Monday?                           2026-02-23
what did Ana say two Mondays ago?                     2026-02-16
what did Ana say last weekend?                        2026-02-28 2026-03-01
what did Ana say last week?                           2026-02-23 2026-03-01
what did Ana say last month?                          2026-02-01 2026-02-28
what did Ana say last quarter?                        2025-10-01 2025-12-31
what did Ana say last year?                           2025-01-01 2025-12-31
what did Ana say last winter?                         2025-12-01 2026-02-28
what did Ana say on the 29th?                         2026-01-29
what did Ana say on 29 February?                      2024-02-29
what did Ana say in February?                         2026-02-01 2026-02-28
what did Ana say in March?                            2026-03-01 2026-03-31
what did Ana say in April?                            2025-04-01 2025-04-30
what did Ana say in late February?                    2026-02-19 2026-02-28
what did Ana say in mid-January?                      2026-01-11 2026-01-20
what did Ana say 3 days ago?                          2026-02-27
what did Ana say three weeks ago?                     2026-02-06 2026-02-12
what did Ana say a month ago?                         2026-01-18 2026-02-17
what did Ana say in the last 10 days?                 2026-02-20 2026-03-02
what did Ana say over the past month?                 2026-02-02 2026-03-02
what did Ana say on New Year's Eve?                   2025-12-31
what did Ana say last Christmas?                      2025-12-24 2025-12-26
what did Ana say at the end of last year?             2025-09-01 2025-12-31

2024-03-01 23:59 Friday
what broke yesterday?                                 2024-02-29
what broke yesterday evening?                         2024-02-29
what broke last month?                                2024-02-01 2024-02-29
what broke a year ago?                                2022-08-30 2023-08-31
what broke on Thursday?                               2024-02-29
what broke in Q1 2024?                                2024-01-01 2024-03-31
what broke in 2023?                                   2023-01-01 2023-12-31
what broke between January and February?              2024-01-01 2024-02-29
what broke from 27 February to 1 March 2024?          2024-02-27 2024-03-01
what broke the week of 29 February 2024?              2024-02-26 2024-03-03
what broke on 2024-02-29?                             2024-02-29
what broke on February 29th, 2024?                    2024-02-29
what broke on the 29th of February?                   2024-02-29
what broke on Thursday, 29 February 2024?             2024-02-29
what broke around 15 February 2024?                   2024-02-12 2024-02-18

2026-01-01 00:10 Thursday
what did we do yesterday?                             2025-12-31
what did we do last week?                             2025-12-22 2025-12-28
what did we do last month?                            2025-12-01 2025-12-31
what did we do in December?                           2025-12-01 2025-12-31
what did we do in the summer of 2025?                 2025-06-01 2025-08-31
what did we do at the beginning of last year?         2025-01-01 2025-05-01
what did we do around Easter?                         2025-04-11 2025-04-28
what did we do on Halloween?                          2025-10-31

2026-12-05 09:30 Saturday
Was haben wir gestern gesagt?                         2026-12-04
Was haben wir vorgestern gesagt?                      2026-12-03
Was hat er am 4. Dezember gemacht?                    2026-12-04
Was hat er am 4. Dezember 2025 gemacht?               2025-12-04
Was haben wir letzten Freitag besprochen?             2026-12-04
Was haben wir letzte Woche besprochen?                2026-11-23 2026-11-29
Was geschah vorletzte Woche?                          2026-11-16 2026-11-22
Was geschah vor drei Tagen?                           2026-12-02
Was geschah vor zwei Wochen?                          2026-11-18 2026-11-24
Was geschah im März?                                  2026-03-01 2026-03-31
Was geschah letzten Sommer?                           2026-06-01 2026-08-31
Qu'est-ce que j'ai regardé hier ?                     2026-12-04
Qu'est-ce que j'ai fait avant-hier ?                  2026-12-03
Qu'est-ce que j'ai fait le 13 novembre ?              2026-11-13
Qu'avons-nous décidé lundi dernier ?                  2026-11-30
Qu'avons-nous décidé la semaine dernière ?            2026-11-23 2026-11-29
Qu'avons-nous fait l'année dernière ?                 2025-01-01 2025-12-31
Que s'est-il passé il y a trois jours ?               2026-12-02
¿Qué vi ayer?                                         2026-12-04
¿Qué vi anteayer?                                     2026-12-03
¿Qué vi el lunes pasado?                              2026-11-30
¿Qué hicimos la semana pasada?                        2026-11-23 2026-11-29
¿Qué hice hace dos semanas?                           2026-11-18 2026-11-24
¿Qué pasó el mes pasado?                              2026-11-01 2026-11-30
¿Qué hicimos el 5 de mayo de 2024?                    2024-05-05
Che cosa ho visto ieri?                               2026-12-04
Che cosa è successo l'altro ieri?                     2026-12-03
Che cosa ho fatto lunedì scorso?                      2026-11-30
Cosa abbiamo fatto il mese scorso?                    2026-11-01 2026-11-30
Cosa abbiamo fatto due settimane fa?                  2026-11-18 2026-11-24
O que eu vi ontem?                                    2026-12-04
O que aconteceu há três dias?                         2026-12-02
O que fizemos na semana passada?                      2026-11-23 2026-11-29
O que aconteceu em 5 de maio de 2024?                 2024-05-05
Wat heb ik gisteren gezien?                           2026-12-04
Wat hebben we vorige week besproken?                  2026-11-23 2026-11-29
Wat gebeurde er drie dagen geleden?                   2026-12-02
"""


def rows() -> list[tuple[datetime, str, str, str]]:
    """(base date, question, first day, last day)."""
    found = []
    base = datetime(1, 1, 1)
    for line in filter(None, TABLE.splitlines()):
        if line[:4].isdigit():
            base = datetime.fromisoformat(line[:16]).replace(tzinfo=BERLIN)
            assert f"{base:%A}" == line[17:]
        else:
            first, *last = line[54:].split()
            found.append((base, line[:54].strip(), first, (last or [first])[0]))
    return found


@pytest.mark.parametrize(("now", "question", "first", "last"), rows())
def test_a_question_is_limited_to_the_days_of_the_table(
    now: datetime, question: str, first: str, last: str
) -> None:
    limit = find(question, now)
    assert limit is not None
    assert tuple(str(day) for day in limit.days) == (first, last)


def test_the_table_has_a_hundred_rows() -> None:
    assert len(rows()) >= 100
