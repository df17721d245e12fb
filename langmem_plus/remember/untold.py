"""What a turn says beyond the facts that were drawn from it: of "My daughter Ella is 7. She goes to the Nygård school."
only the first sentence may be a fact, and whoever is shown that fact alone never hears of the school.
"""

from __future__ import annotations

from collections.abc import Collection

from langmem_plus.remember.forgetting import is_name
from langmem_plus.remember.implied_forms import read_request
from langmem_plus.remember.sentences import ends_question, opens_question, strip_lead
from langmem_plus.remember.statements import forget_requests, wanted_sentences
from langmem_plus.small_talk import is_small_talk
from langmem_plus.text import tokens

# A sentence is told where the facts hold so large a share of its words: a model words a fact in its own way.
TOLD = 0.5


def says_more(text: str, facts: Collection[str], *, asks: bool = False) -> bool:
    """Whether a turn tells something that none of its facts does. Questions, small talk, requests to forget, and what
    isn't to be kept tell nothing.

    Args:
        text: the turn's.
        facts: the texts of all the facts that were drawn from it.
        asks: whether what may be a request to forget is one here.

    >>> says_more("My daughter Ella is 7. She goes to the Nygård school.", ["My daughter Ella is 7."])
    True
    >>> says_more("Hi! I live in Lyon. Where is the nearest pool?", ["I live in Lyon."])
    False
    """
    told = {word for fact in facts for word in tokens(fact)}
    said = (each for each in wanted_sentences(text) if not (asks and read_request(each)))
    return any(_is_untold(sentence, told) for sentence in said)


def says_beside(text: str) -> bool:
    """Whether a turn with requests to forget tells something else, too, and they name what is to go without telling it.

    >>> says_beside("Forget my PIN. The door code is 4711."), says_beside("Forget that I live in Lyon. It rains.")
    (True, False)
    """
    return all(map(is_name, forget_requests(text))) and says_more(text, (), asks=True)


def _is_untold(sentence: str, told: Collection[str]) -> bool:
    said = set(tokens(sentence))
    if not said or len(said.intersection(told)) >= TOLD * len(said):
        return False
    if opens_question(strip_lead(sentence)) or ends_question(sentence) or forget_requests(sentence):
        return False
    return not is_small_talk(sentence)
