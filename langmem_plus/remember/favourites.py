"""What a favourite is: a name, a title or a thing. Where its name ends, and what is no favourite but a complaint.

"My favourite band is The Beatles" and "My favourite restaurant is the one by the sea" begin alike, "Pride and
Prejudice" and "pizza and my wife's is pasta" are joined alike: capitals tell a title, and what is asked for tells a
thing ("green tea" of a tea).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langmem_plus.remember.names import NOT_NAMES, ORIGINS
from langmem_plus.text import STOP_WORDS, stem, words

_HAN = re.compile("[\u4e00-\u9fff]")
_HAN_STATE = re.compile("^[很太好最非]|[的了着过]$")  # 关门的: how it is
# What is surely a thing and no property of one, of the kinds that have common names.
_KNOWN_THINGS_WORDS = """
red blue green yellow orange purple pink brown black white grey gray turquoise teal violet indigo beige gold silver
crimson maroon navy magenta cyan lavender rot blau grün gelb lila rosa braun schwarz weiß grau türkis orange rouge bleu
vert jaune violet rose marron noir blanc gris rojo azul verde amarillo morado negro blanco naranja
pizza pasta sushi ramen lasagne lasagna curry risotto paella burger burgers tacos taco burrito spaghetti soup salad
sandwich dumplings pierogi falafel hummus steak chicken fish salmon tofu rice noodles fries chips pancakes waffles
omelette stew chili goulash schnitzel kebab gnocchi ravioli pho bibimbap biryani dal couscous quiche pie cake
cheesecake tiramisu brownies cookies chocolate ice cream icecream gelato pudding popcorn bread toast croissant
bagel porridge cereal tea coffee espresso latte cappuccino water beer wine whisky whiskey gin rum vodka cocoa
juice lemonade milk cola
smoothie mojito matcha chai champagne cider kombucha
apple apples banana bananas mango mangoes strawberry strawberries cherry cherries pear pears peach peaches grapes
blueberries raspberries pineapple kiwi melon watermelon oranges plum plums carrot carrots broccoli spinach tomato
tomatoes potato potatoes
dog dogs cat cats horse horses dolphin dolphins elephant elephants tiger tigers lion lions wolf wolves penguin penguins
owl owls fox foxes panda pandas otter otters rabbit rabbits
rose roses tulip tulips lily lilies sunflower sunflowers orchid orchids daisy peony peonies
football soccer tennis basketball cricket rugby hockey golf swimming running cycling climbing chess badminton volleyball
skiing hiking rowing yoga gardening painting reading knitting piano guitar violin cello drums flute
spring summer autumn fall winter christmas easter maths math history biology physics chemistry geography
basil thyme rosemary cinnamon mint vanilla
frühling sommer herbst winter hund katze wasser bier wein kaffee tee fußball
"""
_KNOWN_THINGS = frozenset(stem(word) for word in _KNOWN_THINGS_WORDS.split())
MAY_BE_EITHER = "either"  # the shape of a value that is surely one, whether it is written as a name or not

# What stands small within a title.
_SMALL_WORDS = """
a an the of and in on at to for with from by or but no not und der die das den dem des von vom zu zum zur im am ein
eine et le la les de du des au aux à en un une y el los las del al con por para lo vs &
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_ARTICLES = frozenset(("the", "der", "die", "das", "le", "la", "les", "el", "los", "las"))
_PAIR = re.compile(r"(?P<first>[^\W\d_][\w'’-]*) (?:and|und|et|y|&) (?P<second>[^\W\d_][\w'’-]*)[.!]?")
# "the one by the sea", "the same as yours": nothing is named.
_UNNAMED_WORDS = """
one ones same best worst first last latest other next most only new old cheapest closest nearest former latter thing
place way
"""
_UNNAMED = frozenset(_UNNAMED_WORDS.split())
_PREDICATE = re.compile(r"\w{4}(?:ed|able|ible|less|ier)$|\w{2}(?:ful|ous)$|\w{5}ive$", re.IGNORECASE)
_NO_FAVOURITES_WORDS = """
boring expensive cheap hard easy difficult tough empty full dirty clean loud quiet gone missing stolen sold dying
simply by with without about for near under over made coming going being too more less better worse much nearly only
just because due tasty healthy unhealthy popular rare extinct burnt ruined nice lovely seasonal similar different
changing everywhere nowhere tonight playing winning losing
"""
_NO_FAVOURITES = NOT_NAMES | frozenset(_NO_FAVOURITES_WORDS.split())
_TASTES = frozenset(("hot", "cold", "fresh", *ORIGINS))  # "hot chocolate", "Thai curry"
# What is called by common nouns: a favourite dish may be written as "Pad Thai" or "lasagne".
_COMMON_WORDS = """
colour color food dish meal cuisine dinner lunch breakfast dessert snack drink beverage tea coffee beer wine cocktail
juice soup sauce cheese cake fruit vegetable spice herb flavour flavor topping pizza pasta animal bird pet flower tree
plant sport hobby activity instrument subject season holiday genre fabric farbe essen gericht getränk tee kaffee kuchen
obst gemüse tier blume sportart fach jahreszeit couleur plat boisson thé café gâteau légume animal fleur saison color
comida plato bebida té fruta verdura flor deporte estación
"""
_COMMON = frozenset(stem(word) for word in _COMMON_WORDS.split())


def is_title(text: str) -> bool:
    """Whether a text is written as a title or a name of several words: its first and last word are capitals or numbers,
    and between them all but small words.

    >>> is_title("Pride and Prejudice"), is_title("The Beatles"), is_title("Pizza and my wife's is Pasta")
    (True, True, False)
    """
    said = [word.strip(".,:!?\"“”'’") for word in text.split()]
    if len(said) < 2 or not all(said):
        return False
    return all(_is_capital(word) for word in (said[0], said[-1])) and all(
        _is_capital(word) or word in _SMALL for word in said[1:-1]
    )


def _is_capital(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit() or bool(re.match(r"[dlDL]['’][A-ZÀ-Þ]", word))


def ends_of_name(text: str, joints: Sequence[int]) -> int:
    """Where the name of a favourite ends: at the last joint up to which it is a title or a pair, else at the first one.

    Args:
        text: what the favourite is, and what is said behind it.
        joints: where something is joined that may belong to it, or not.
    """
    for end in (len(text), *reversed(joints[1:])):
        name = text[:end].strip()
        if joints and (is_title(name) or _is_pair(name)):
            return end
    return joints[0] if joints else len(text)


_MEASURED = re.compile(r"\d[\d.,]*(?: [a-zß-ÿ]+)+")  # "3 minutes long"
# "Oscar winning", "cooked by my mother"
_SAID_OF = re.compile(r"[A-Z]\w* [a-zß-ÿ]+(?:ing|ed)|.*['’]s|\w+ by (?:my|our|the|a|his|her) .+")


def _is_pair(name: str) -> bool:
    """Whether two single words are joined to one thing, such as "fish and chips", "Guerra y paz"."""
    match = _PAIR.fullmatch(name)
    if match is None:
        return False
    return not {match["first"].casefold(), match["second"].casefold()} & (STOP_WORDS | _NO_FAVOURITES)


def is_favourite(of: str, value: str) -> bool:
    """Whether a value names a favourite, and doesn't say how it is ("closed", "by the sea").

    Args:
        of: what it is a favourite of.
        value: the value as it is written.
    """
    if is_title(value):
        return True
    said = value.casefold().split()
    if _MEASURED.fullmatch(value) or _SAID_OF.fullmatch(value):
        return False
    if _PREDICATE.search(said[-1]):
        return False
    if said[0] == "the":
        return len(said) > 1 and said[1] not in _UNNAMED
    if said[0] in _TASTES and len(said) > 1:
        return _is_common(of) and not set(said[1:]) & (STOP_WORDS | _NO_FAVOURITES)
    return said[0] not in _NO_FAVOURITES


def is_surely_favourite(of: str, value: str) -> bool:
    """Whether a value can only be a favourite, and not how it is: a title, a name, a thing of the kind that is asked
    for, a thing with its article, a known dish, drink or colour. "My favourite mug is broken" is built as
    "… is blue" is.

    >>> is_surely_favourite("colour", "dark green"), is_surely_favourite("mug", "broken")
    (True, False)
    """
    said = words(value)
    if is_title(value) or _is_pair(value) or (said and value.isdigit()):
        return True
    if len(value.split()) == 1 and (value[:1].isupper() or _HAN.search(value)):
        return not _HAN_STATE.search(value)
    if not said or any(word in STOP_WORDS for word in said[1:-1]):
        return False
    if len(said) > 1 and (value.split()[0] in _ARTICLES or (words(of) and stem(said[-1]) == stem(words(of)[-1]))):
        return True
    return _is_common(of) and stem(said[-1]) in _KNOWN_THINGS


def favourite_shape(of: str, value: str) -> str:
    """Whether a value is written as a name or not, or is surely one in any spelling: a number, a thing of the kind that
    is asked for ("green tea"), a thing with its article. What is neither might say how the favourite is: it
    excludes none that is a name.
    """
    said = words(value)
    if value[0].isdigit() or _is_common(of) or (len(said) > 1 and value.split()[0] in _ARTICLES):
        return MAY_BE_EITHER
    if said and words(of) and stem(said[-1]) == stem(words(of)[-1]):
        return MAY_BE_EITHER
    return "proper" if value[:1].isupper() else "plain"


def _is_common(of: str) -> bool:
    said = words(of)
    return bool(said) and stem(said[-1]) in _COMMON
