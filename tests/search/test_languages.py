"""Messages are found in any language, in code, and by short queries; tables of examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import Memory, Message, Scope
from treemem.store.database import SQLITE_VERSION, Database
from treemem.store.schema.spine import SECURE_DELETE_SINCE
from treemem.text.fts import match_expression, terms

# By language or kind: what was said, queries all of whose words it has, and queries with others.
SAID: dict[str, tuple[str, str, str]] = {
    "chinese": (
        "我们决定使用Redis缓存来加速查询，版本2.3.1。",
        "缓存|来加速查询|加速查询|REDIS|redis缓存|2.3.1|存|查",
        "数据库|快取|2.3.4",
    ),
    "chinese, traditional": ("會議改到星期五下午三點", "會議|星期五|三點|五", "星期六|會員卡"),
    "japanese": (
        "東京タワーへ行く人々は多かった",
        "東京|東京タワー|タワー|行く|人々|々",
        "京都|大阪",
    ),
    "japanese, half width": ("ﾀﾜｰに登る", "タワー|ﾀﾜｰ", "タクシー"),
    "japanese, decomposed": ("か\u3099くせい がいます", "がくせい|がい", "かく"),
    "korean": (
        "한국어를 공부하는 학생이 서울에서 만났다",
        "한국어|공부|서울|학생|서",
        "부산|일본어",
    ),
    "korean, decomposed": ("\u1112\u1161\u11ab\u1100\u116e\u11a8 여행", "한국|여행", "중국"),
    "thai": ("ฉันชอบกินข้าวผัดที่กรุงเทพ", "ข้าวผัด|กรุงเทพ|กิน|ข้าว", "เชียงใหม่|น้ำ"),
    "thai, sara am": ("ดื่มน้ำเย็น", "น้ำ|น้ํา", "ข้าว"),
    "lao": ("ຂ້ອຍມັກກິນເຂົ້າ", "ເຂົ້າ|ກິນ", "ນ້ຳ"),
    "khmer": ("ខ្ញុំរៀន\u200bភាសាខ្មែរ", "ភាសាខ្មែរ|រៀនភាសា|ខ្មែរ", "សៀវភៅ"),
    "burmese": ("မြန်မာစာကိုလေ့လာသည်", "မြန်မာ|လေ့လာ", "အင်္ဂလိပ်"),
    "hindi": ("हिन्दी में काम करना ज़रूरी है", "हिन्दी|काम|करना|ज\u093cरूरी", "कम|हिन्द|हद"),
    "tamil": ("தமிழ் மொழி அழகானது", "தமிழ்|மொழி", "தமழ"),
    "tibetan": ("བོད་སྐད་", "བོད་སྐད|བོད", "རྒྱ"),
    "french": (
        "Le café est près de l'hôtel où l'on dîne",
        "cafe|CAFÉ|hotel|pres|dine|cafe\u0301",
        "diner",
    ),
    "german": (
        "Die Straße über den Größenvergleich",
        "strasse|STRASSE|straße|uber|größenvergleich",
        "strauss",
    ),
    "polish": ("Łódź leży w środku Polski", "lodz|łódź|LODZ|lezy|srodku", "lublin"),
    "danish": ("Rødgrød på Ærø", "rodgrod|rødgrød|aero|ÆRØ|pa", "rugbrod"),
    "turkish": (
        "İstanbul'da ılık bir akşam, IŞIK",
        "istanbul|ISTANBUL|ılık|ilik|ILIK|aksam|ışık|isik",
        "ankara",
    ),
    "vietnamese": ("Tiếng Việt ở Đà Nẵng", "tieng|việt|viet|da nang|Đà Nẵng", "hanoi"),
    "greek": ("Ο Σίσυφος και ο λόγος του", "σισυφος|ΣΙΣΥΦΟΣ|Σίσυφος|σίσυφοσ|λογοσ", "αθήνα"),
    "russian": (
        "Ещё один ёжик, йогурт и ключ",
        "еще|ЕЩЁ|ежик|йогурт|КЛЮЧ|ключи|ключа|йогуртом",
        "иогурт|клюв",
    ),
    "ukrainian": ("Її під'їзд у Києві", "її|києві|КИЄВІ", "киеви"),
    "hebrew": ("שָׁלוֹם עולם", "שלום|עולם|שָׁלוֹם", "שלם"),
    "arabic": ("ذهب أحمد إلى المَدرَسَة في القاهرة", "احمد|أحمد|الى|المدرسة|المدرسه|القاهره", "محمد"),
    "persian": ("من کتاب می‌خواهم", "کتاب|می خواهم|میخواهم|می‌خواهم", "قلم"),
    "georgian": ("საქართველო", "საქართველო|ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ", "თბილისი"),
    "full width": ("Ｐｙｔｈｏｎ　３．１１ の話", "python|Ｐｙｔｈｏｎ|PYTHON", "ruby"),
    "ligatures and exponents": (
        "an oﬃce of 40 m² and 𝗯𝗼𝗹𝗱 claims",
        "office|m2|m²|bold",
        "officer2",
    ),
    "invisible signs": (
        "a data\u00adbase with a zero\u200bwidth",
        "database|zerowidth|data",
        "basis",
    ),
    "emoji": ("the cake 🎂 is done ✅️, 👩‍💻", "🎂|✅|✅️|👩‍💻|👩|🎂 cake", "🎉|❌"),
    "camelCase": (
        "parseRetryAfter calls getHTTPResponse",
        "retry after|parseRetryAfter|parseretryafter|parse_retry_after|http response|response",
        "parseRetryBefore|reset",
    ),
    "snake_case": (
        "set max_retry_count in __init__",
        "max_retry_count|retry count|maxRetryCount|MAX_RETRY_COUNT|init",
        "min_retry_count|maxRetryTotal",
    ),
    "path": (
        "see treemem/models/llama.py:12 and C:\\Users\\Ann\\notes.txt",
        "treemem/models/llama.py|models/llama.py|llama.py|llama|users ann|notes.txt",
        "gguf.py|bob",
    ),
    "dotted names": (
        "sqlite3.IntegrityError: UNIQUE constraint failed: message.id",
        "sqlite3.IntegrityError|IntegrityError|integrity error|integrityerror|message.id",
        "OperationalError|operational error",
    ),
    "error codes": (
        "ERR_CONN_RESET, then HTTP 404, E0308 and errno -5",
        "ERR_CONN_RESET|err conn|HTTP 404|404|E0308|e0308|reset",
        "E0309|405|ECONNREFUSED",
    ),
    "versions": (
        "numpy v1.26.4 on Python 3.11 at 10.0.0.1",
        "1.26.4|v1.26.4|1.26|3.11|10.0.0.1",
        "4.26.1|3.12|11.3",
    ),
    "hashes": (
        "fixed in a1b2c3d4e5f60718293a4b5c6d7e8f9001122334, flag 0xDEADBEEF",
        "a1b2c3|a1b2c3d4e5f|A1B2C3D4|0xDEADBEEF|deadbeef|0xdeadbe",
        "a1b2c4|b2c3d4e5|0xdeadc0",
    ),
    "uuid": (
        "session 550e8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-a716-446655440000|550e8400|550e84|446655440000",
        "550e8401",
    ),
    "names with signs": (
        "We wrote it in C++17 and C#, ported from F# to .NET and node.js",
        "C++|c++|cpp|C#|csharp|F#|.NET|dotnet|node.js",
        "J#|nodejs",
    ),
    "one or two letters": ("Go is fine for IT, C and R; x = pi", "Go|C|IT|R|x|go|pi|R C", "D|Q|ML"),
    "c without signs": ("the C compiler", "C|c compiler", "C++|C#"),
    "one character": ("猫が好き", "猫|好|き|が|猫が", "犬|大"),
    "mixed": (
        "在 GitHub 上修复 parseRetryAfter函数 的bug",
        "github|git hub|函数|retry after|bug|修复",
        "gitlab|除错",
    ),
}
CASES = [
    pytest.param(kind, query, expected, id=f"{kind}: {query}")
    for kind, (_, found, missed) in SAID.items()
    for queries, expected in ((found, True), (missed, False))
    for query in queries.split("|")
]


@pytest.fixture(scope="module")
def spoken_database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return Database(tmp_path_factory.mktemp("spoken") / "memory.sqlite3")


@pytest.fixture(scope="module")
def spoken(spoken_database: Database) -> Iterator[Memory]:
    """Every text in a source of its own."""
    with Memory(spoken_database) as memory:
        for kind, (said, _, _) in SAID.items():
            memory.append(kind, [Message(text=said)])
        yield memory


@pytest.mark.parametrize(("kind", "query", "expected"), CASES)
def test_a_text_with_all_words_of_a_query_is_found(
    spoken: Memory, spoken_database: Database, kind: str, query: str, expected: bool
) -> None:
    sql = """SELECT count(*) FROM message_fts f JOIN source_message sm ON sm.message_seq = f.rowid
             JOIN source s ON s.seq = sm.source_seq WHERE message_fts MATCH ? AND s.id = ?"""
    expression = match_expression(terms(query), every=True)
    assert spoken_database.value(sql, (expression, kind)) == expected
    if expected:
        assert spoken.search(query, scope=Scope.source(kind)).passages


@pytest.mark.parametrize("kind", SAID)
def test_a_text_with_none_of_the_words_is_not_found(spoken: Memory, kind: str) -> None:
    assert not spoken.search("xylophone 犀牛 жираф", scope=Scope.source(kind)).passages


def test_the_speaker_is_found_in_any_script(memory: Memory) -> None:
    memory.append("s", [Message(text="hello", author="王小明")])
    assert memory.search("小明").passages


def test_the_stored_text_is_unchanged(spoken: Memory) -> None:
    said = SAID["full width"][0]
    assert (
        spoken.search("python", scope=Scope.source("full width")).passages[0].messages[0].text
        == said
    )


CHINESE = "我们决定把缓存的有效期设为三十分钟，因为数据库太慢了。"


@pytest.mark.parametrize("wrong", ["'other words'", "NULL"])
def test_the_doctor_repairs_wrong_search_words(
    memory: Memory, database: Database, wrong: str
) -> None:
    memory.append("s", [Message(text=f"We decided: {CHINESE}", role="user")])
    memory.work()
    database.execute(f"UPDATE message SET search_text = {wrong}")
    database.execute("INSERT INTO message_fts (message_fts) VALUES ('rebuild')")
    unhealthy = [check.name for check in memory.diagnose().checks if not check.ok]
    assert unhealthy == ["other forms of words"]
    memory.repair()
    assert memory.diagnose().healthy
    sql = "SELECT count(*) FROM message_fts WHERE message_fts MATCH '缓存'"
    assert database.value(sql)


@pytest.mark.skipif(SQLITE_VERSION < SECURE_DELETE_SINCE, reason="this SQLite cannot")
def test_a_deleted_text_leaves_nothing_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    secret = "parseSecretZebra 斑马密码锁 Straßenzebra"
    database = Database(path)
    with Memory(database) as memory:
        memory.append("s", [Message(text=secret), Message(text="something else")])
        with database.transaction():
            database.execute("PRAGMA defer_foreign_keys = ON")
            database.execute("DELETE FROM source_message WHERE position = 0")
            database.execute("DELETE FROM message WHERE text = ?", (secret,))
        for check in memory.diagnose().checks:
            assert check.ok or not check.name.startswith("full text")
    content = path.read_bytes().lower()
    for word in ("zebra", "斑马", "密码", "strassen"):
        assert word.encode() not in content


SIGNS = [*"\"*():^-+{}' \0\ud800\u0301缓é🎂", "NEAR(", " AND ", "text:", "author:"]


@settings(max_examples=60)
@given(st.lists(st.characters() | st.sampled_from(SIGNS), max_size=20).map("".join))
def test_no_query_is_refused(spoken: Memory, query: str) -> None:
    spoken.search(query)
