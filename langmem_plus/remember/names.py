"""What is taken for a person's name after "I'm", "my wife is" or "call me", and what isn't."""

from __future__ import annotations

_ORIGINS = """
african albanian american arab argentinian asian australian austrian belgian brazilian british bulgarian canadian
catholic chilean chinese christian colombian croatian cuban czech danish dutch egyptian english estonian ethiopian
european filipino finnish french german ghanaian greek hindu hungarian icelandic indian indonesian iranian iraqi irish
israeli italian jamaican japanese jewish kenyan korean latvian lebanese lithuanian malaysian mexican moroccan muslim
nepali nigerian norwegian pakistani peruvian polish portuguese protestant romanian russian scottish serbian slovak
slovenian spanish swedish swiss syrian taiwanese thai turkish ukrainian vietnamese welsh
"""
ORIGINS = tuple(_ORIGINS.split())  # what "I'm" tells of somebody's country or faith

_OTHERS = """
a an the my our his her not very really so in from at on always never no also still now vegan vegetarian pescatarian
single married divorced engaged widowed separated pregnant retired aries taurus gemini cancer virgo libra scorpio
sagittarius capricorn aquarius pisces monday tuesday wednesday thursday friday saturday sunday
"""
_MOODS = """
able afraid alive all alone alright amazed amazing angry annoyed anxious asleep aware awake away awesome back bad better
bored both broke busy certain close cold confused cool curious dead depressed disappointed done down dying early
ecstatic embarrassed excited exhausted fine finished free fresh frustrated fully furious getting glad going good
grateful great happy having here home honored hot hungry ill impressed injured interested jealous just kidding late lazy
leaving like listening lonely looking lost lucky mad maybe nearby nervous new off ok okay older
online open out over overwhelmed
perfect pleased proud quite ready relaxed relieved right sad safe scared serious shocked sick sleepy sorry sort speaking
starving stressed stuck stunned super sure surprised there thankful that thinking thirsty this thrilled tired today
tomorrow too torn trying unable unhappy unsure up upset waiting well what where wondering working worried wrong yes
yours crazy anytime asap immediately again soon later anything something whatever if when
"""
NOT_NAMES = frozenset((*ORIGINS, *_OTHERS.split(), *_MOODS.split()))
# A capitalised name that stands alone, or before what introduces its bearer.
GIVEN_NAME = (
    rf"(?!(?:{'|'.join(sorted(NOT_NAMES))})\b)(?-i:[A-ZÀ-Þ][a-zß-ÿ'’-]+(?: (?:van|von|de|der|den|la|di|da|"
    rf"[A-ZÀ-Þ][\w'’.-]*)){{0,3}})"
    r"(?=[.!]?\W*$|, | (?:and|by the way|from now on|please|from [A-Z])\b)"
)
