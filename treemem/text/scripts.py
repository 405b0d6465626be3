"""Lists the scripts that are written without spaces, as ranges for a character class.

The three uses differ in the scripts that use some spaces, such as Korean, and in rare scripts.
Tested in tests/text/test_windows.py.
"""

_THAI_LAO = "\u0e00-\u0eff"
_MYANMAR = "\u1000-\u109f"
_KHMER = "\u1780-\u17ff"
_KANA = "\u3040-\u30ff"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_HAN_COMPATIBILITY = "\uf900-\ufaff"
_RARE_HAN = "\U00020000-\U0003fffd"
_HANGUL = "\uac00-\ud7af"
_JAMO = "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff"
_IDEOGRAPHIC_MARKS = "\u3005-\u3007"
_BOPOMOFO_AND_OLD_JAMO = "\u3100-\u318f\u31a0-\u31bf"
_MORE_KANA = "\u31f0-\u31ff\uff66-\uffdc"
_MORE_MYANMAR = "\ua9e0-\ua9ff\uaa60-\uaa7f"
_YIJING = "\u4dc0-\u4dff"

_ALWAYS = _THAI_LAO + _MYANMAR + _KHMER + _KANA + _HAN + _HAN_COMPATIBILITY

# Compared character by character when a statement is checked. Korean has spaces, so it is not.
COMPARED_BY_CHARACTER = _ALWAYS + _YIJING
# Two characters count as a word where a text is cut into windows.
COUNTED_BY_PAIR = _ALWAYS + _HANGUL + _RARE_HAN
# Indexed as pairs of characters. Korean is too, since its particles are attached to words.
INDEXED_BY_PAIR = (
    COUNTED_BY_PAIR + _JAMO + _IDEOGRAPHIC_MARKS + _BOPOMOFO_AND_OLD_JAMO + _MORE_KANA
    + _MORE_MYANMAR
)  # fmt: skip
