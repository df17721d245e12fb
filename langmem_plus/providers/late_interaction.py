"""Late interaction for a first choice: which of some hundreds of texts are worth a record and a closer look."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from langmem_plus.providers.token_bits import ASKED_RARITY, AskedTokens, TextBits, TokenEncoder, similarities
from langmem_plus.text import STOP_WORDS, words

# A question whose words break into more further pieces than so is in a language that the local model never learnt: what
# its tokens find near to each other there is spelt alike, no more.
FOREIGN = 0.3
# Function words of German, French, Spanish, Italian, Portuguese and Dutch that are no English words.
_ELSEWHERE = frozenset(
    """
    wer wie wo wann warum welche welcher welches welchen wessen ich du er wir ihr mein meine meinen meinem dein
    deine der das dem ein eine einen einem ist sind habe haben heißt nicht und oder mit für von zu im mir dir uns
    über qué quién quiénes cómo dónde cuándo cuál cuánto cuántos cuánta cuántas por el los las una unos con mi mis
    tus soy está estoy tengo tiene del al lo su sus qui que quoi quel quelle quels quelles où quand comment combien
    pourquoi je tu il elle nous vous mon mes ton tes le la les un une des du est suis ai avec dans sur cette chi che
    cosa dove quando come quanto quale gli sono ho mio mia della quem onde qual uma eu meu minha com da wat waar
    wanneer hoe welke ik mijn jij het een van
    """.split()  # noqa: SIM905 - a list of words reads better than their quotes
)
# Others that say as little.
_SAYING_LITTLE = frozenset(
    """
    hat hast hatte hatten bin bist war waren wird werden wurde kann muss soll heißen gibt man nach aus bei auf noch nur
    schon sehr viel mehr wenn dann doch aber auch als dass diese dieser dieses alle alles hay han fue era son hago hace
    puede en es se no ya si muy más para como sobre entre hasta desde cuando donde todo todos esta este esto ese eso ont
    été était fut fait peut à en il elle on y ce se ne pas plus très bien aussi mais comme sans sous cette tout tous
    leur chez vers être avoir hanno può foi tem tenho pode heeft hebben wordt naar niet
    """.split()  # noqa: SIM905 - as above
)
# Without those that are words of these languages, too.
_SHARED = "a all am an as do has he her i in is me more no of on so was will"
_ENGLISH = STOP_WORDS - _ELSEWHERE - frozenset(_SHARED.split())
_SURELY = 2  # so many of them, or half of the words: the question is English, however odd its other words are
# "Los Angeles flight?", "the van Gogh": a name's particle, at the beginning or behind an English word, tells nothing of
# the language.
_PARTICLE = re.compile(
    r"(?:^\W*|\b(?:the|a|an|of|in|to|from|by|with|for|at|and|my|is|was|does|did)\s)"
    r"(?i:van|von|de|del|di|da|la|las|los|le|les|el|il|al)\s(?=[^\W\d_a-zß-ÿ])"
)


def can_read(question: str) -> bool:
    """Whether the local model knows the question's script: its word pieces are those of Latin letters, and of others it
    knows single characters at best, so that what it finds near to each other there misleads.

    >>> can_read("Wie heißt mein Hund?"), can_read("我住在哪里？")
    (True, False)
    """
    letters = [letter for letter in question if letter.isalpha()]
    latin = sum(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return 2 * latin > len(letters)


def is_foreign(question: str, asked: AskedTokens) -> bool:
    """Whether a question is in a language that the local model never learnt: more of its words are another language's
    function words than English ones; or they break into many pieces, and hardly any is an English one.

    Args:
        question: as it was asked.
        asked: its tokens.
    """
    said, plain = set(words(question)), set(words(_PARTICLE.sub(" ", question)))
    elsewhere, english = len(plain & _ELSEWHERE), len(said & _ENGLISH)
    if elsewhere > english:
        return True
    return asked.broken > FOREIGN and english + asked.familiar < min(_SURELY, len(said) / 2)


def content_words(text: str) -> set[str]:
    """The words of a text that say something, in English and in these languages.

    >>> sorted(content_words("Welche Allergie hat Lena?"))
    ['allergie', 'lena']
    """
    return set(words(text)) - _ELSEWHERE - _SAYING_LITTLE - STOP_WORDS


def ask_for_order(encoder: TokenEncoder, question: str) -> AskedTokens | None:
    """A question's tokens, where they tell anything about which texts are near; the model runs where it isn't known."""
    asked = encoder.ask(question) if can_read(question) else None
    if asked is None or is_foreign(question, asked) or not (asked.rarity > ASKED_RARITY).any():
        return None
    return asked


def nearness(asked: AskedTokens, texts: Sequence[TextBits | None]) -> NDArray[np.float64]:
    """How near each text is to a question: of each of the question's tokens that say something the best cosine among
    the text's, averaged by the tokens' rarity. NaN for a text without bits.

    Args:
        asked: the question; one of its tokens at least says something.
        texts: their bits.
    """
    says = asked.rarity > ASKED_RARITY
    weights = asked.rarity[says].astype(np.float64)
    nothing = np.empty((0, 0), np.uint8)
    cosines = similarities(asked.tokens[says], [nothing if each is None else each.tokens for each in texts])
    known = np.array([each is not None for each in texts], bool)
    return np.where(known, cosines.astype(np.float64) @ (weights / weights.sum()), np.nan)
