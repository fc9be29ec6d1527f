"""Script oracle: cuts texts in scripts without spaces by character, and makes such texts."""

import random
import unicodedata
from functools import cache

CJK = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF),
       (0x20000, 0x3FFFF))  # fmt: skip

# Beginnings of the Unicode names of letters and marks of these scripts.
SPACELESS = (
    "THAI ", "LAO ", "KHMER ", "MYANMAR ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ",
    "AHOM ", "TIBETAN ", "BALINESE ", "JAVANESE ", "CHAM ", "BATAK ", "MAKASAR ", "BRAHMI ",
    "GRANTHA ", "COMBINING GRANTHA ", "KAWI ", "DIVES AKURU ", "YI ", "BOPOMOFO ", "NUSHU ",
    "TANGUT ", "KATAKANA ", "HIRAGANA ", "HENTAIGANA ", "HALFWIDTH KATAKANA", "IDEOGRAPHIC ",
    "VERTICAL IDEOGRAPHIC ", "VERTICAL KANA ", "MASU MARK", "OLD CHINESE ITERATION",
    "CHINESE SMALL ", "VIETNAMESE ALTERNATE READING", "TULU-TIGALARI ", "GURUNG KHEMA ",
    "JURCHEN ", "SEAL ",
)  # fmt: skip
# Buginese, which has spaces, has this mark too.
NOT_SPACELESS = ("JAVANESE PANGRANGKEP",)

# Consonants, vowel signs that may be missing, and final marks that may be missing.
SYLLABLES = {
    "thai": ("\u0e01\u0e02\u0e04\u0e07\u0e08\u0e0a\u0e14\u0e15\u0e17\u0e19\u0e1a\u0e1b\u0e1e\u0e21"
             "\u0e22\u0e23\u0e25\u0e27\u0e2a\u0e2b\u0e2d", "\u0e30\u0e31\u0e32\u0e34\u0e35\u0e38",
             "\u0e48\u0e49\u0e4c"),
    "lao": ("\u0e81\u0e82\u0e84\u0e87\u0e88\u0e8a\u0e94\u0e95\u0e97\u0e99\u0e9a\u0e9b\u0e9e\u0ea1"
            "\u0ea5\u0eaa\u0eab\u0ead", "\u0eb0\u0eb1\u0eb2\u0eb4\u0eb5\u0eb8", "\u0ec8\u0ec9"),
    "khmer": ("\u1780\u1781\u1782\u1784\u1785\u1787\u178a\u178f\u1791\u1793\u1794\u1796\u1798\u1799"
              "\u179a\u179b\u179c\u179f\u17a0\u17a2", "\u17b6\u17b7\u17b8\u17bb\u17be\u17c1",
              "\u17c6\u17c7\u17cb"),
    "burmese": ("\u1000\u1001\u1002\u1004\u1005\u1006\u100a\u1010\u1011\u1014\u1015\u1017\u1019"
                "\u101a\u101b\u101c\u101e\u101f\u1021", "\u102b\u102c\u102d\u102e\u102f\u1031",
                "\u1037\u1038\u103a"),
    "tibetan": ("\u0f40\u0f41\u0f42\u0f44\u0f45\u0f47\u0f4f\u0f51\u0f53\u0f54\u0f56\u0f58\u0f59"
                "\u0f5e\u0f62\u0f63\u0f66\u0f67", "\u0f72\u0f74\u0f7a\u0f7c\u0fb1\u0fb2", "\u0f0b"),
    "javanese": ("\ua98f\ua992\ua994\ua995\ua997\ua99a\ua99f\ua9a0\ua9a4\ua9a5\ua9a7\ua9a9\ua9aa"
                 "\ua9ab\ua9ad\ua9ae\ua9b1\ua9b2", "\ua9b4\ua9b6\ua9b8\ua9ba\ua9bc",
                 "\ua981\ua983"),
    "tai tham": ("\u1a20\u1a21\u1a23\u1a26\u1a27\u1a29\u1a2f\u1a32\u1a34\u1a36\u1a37\u1a38\u1a3b"
                 "\u1a3e\u1a3f\u1a41\u1a43\u1a45\u1a48", "\u1a62\u1a63\u1a65\u1a66\u1a69",
                 "\u1a75\u1a76"),
    "halfwidth": ("".join(map(chr, range(0xFF71, 0xFF9E))), "\uff70", "\uff9e"),
    "japanese": ("".join(map(chr, range(0x3042, 0x3094))), "\u30fc", "\u3002"),
}  # fmt: skip


@cache
def is_spaceless(character):
    """Return whether a character is a letter or mark of a script without spaces."""
    name = unicodedata.name(character, "")
    is_one = unicodedata.category(character)[0] in "LM" and name not in NOT_SPACELESS
    return is_one and (is_cjk(character) or name.startswith(SPACELESS))


def is_cjk(character):
    return any(first <= ord(character) <= last for first, last in CJK)


def words_of(text, by_character):
    """Cut `text` into words, not lower-cased, one character after the other."""
    tokens, word = [], ""
    for character in text:
        category = unicodedata.category(character)
        is_token = category[0] in "LMN" or category == "Pc"
        is_alone = is_cjk(character) or (by_character == "spaceless" and is_spaceless(character))
        if is_token and not is_alone:
            word += character
            continue
        tokens += [word] if word else []
        tokens += [character] if is_token else []
        word = ""
    return tokens + ([word] if word else [])


def made_text(script, count, seed):
    """Make a text of `count` syllables of a script, with a space after every tenth or so."""
    chance = random.Random(f"{script} {seed}")
    consonants, vowels, finals = SYLLABLES[script]
    parts = []
    for _ in range(count):
        parts.append(chance.choice(consonants) + chance.choice(consonants))
        parts.append(chance.choice(vowels) if chance.random() < 0.7 else "")
        parts.append(chance.choice(finals) if chance.random() < 0.4 else "")
        parts.append(" " if chance.random() < 0.1 else "")
    return "".join(parts)


def with_changes(text, seed, every=100):
    """Change one letter or mark of `every` in a text to another one of it."""
    chance = random.Random(seed)
    places = [place for place, each in enumerate(text) if unicodedata.category(each)[0] in "LM"]
    letters = list(text)
    for start in range(0, len(places) - every + 1, every):
        place = places[start + chance.randrange(every)]
        others = {text[each] for each in places} - {text[place]}
        letters[place] = chance.choice(sorted(others))
    return "".join(letters)
