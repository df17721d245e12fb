"""Homes and employers: how a move or a new job is told, what was told before it, and what only sounds like one."""

from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.remember.rules import may_outdate, replaces
from langmem_plus.remember.slots import find_slot

MOVED = [
    ("I live in Leeds", "I moved to York yesterday!"),
    ("I live in a small flat in Leeds.", "I moved to York."),
    ("I live in the centre of Leeds", "We just moved to York"),
    ("I live in Leeds.", "We moved to York yesterday."),
    ("We live in Leeds.", "We moved to York."),
    ("I live in Leeds", "My husband and I moved to York last week"),
    ("I live in Leeds", "My husband and I now live in York"),
    ("I live in Leeds", "Last week we moved to York"),
    ("I live in Leeds", "Just moved to York!"),
    ("I live in Leeds", "I moved into a new flat in York on Saturday"),
    ("I live in Leeds", "We moved to York over the weekend"),
    ("I live in Leeds", "I moved to York with my dog because of work"),
    ("I live in Leeds", "I now live with Tom in York"),
    ("The user lives in Leeds", "The user moved to York with his family."),
    ("Ich wohne in einer kleinen Wohnung in Köln", "Ich bin gestern nach Berlin gezogen"),
    ("Wir wohnen in Köln", "Gestern sind wir nach Berlin umgezogen"),
    ("Ich wohne in Köln", "Ich wohne jetzt mit meinem Mann in Berlin"),
    ("J'habite dans un petit appartement à Lyon", "J'ai déménagé à Paris hier"),
    ("Nous habitons à Lyon", "On a déménagé à Paris"),
    ("J'habite à Lyon", "Nous nous sommes installés à Paris"),
    ("Vivo en un piso pequeño en Madrid", "Nos mudamos a Sevilla"),
    ("Vivimos en Madrid", "Nos hemos mudado a Sevilla"),
    ("我们住在上海", "我昨天搬到了北京"),
    ("我住在上海的一个小公寓", "我们搬到北京了"),
]
STARTED = [
    ("My employer is Google.", "I started at Apple."),
    ("I work at St Mary's.", "I start at York District Hospital on Monday."),
    ("I work at Google", "I'll start at Apple tomorrow."),
    ("I work at Google", "I've just started at Apple as a designer"),
    ("Ich arbeite bei Siemens", "Ich habe bei Bosch angefangen"),
    ("Ich arbeite bei Siemens", "Ich fange am Montag bei Bosch an"),
    ("Je travaille chez Renault", "J'ai commencé chez Airbus"),
    ("Je travaille chez Renault", "Je commence chez Airbus lundi"),
    ("Trabajo para Seat", "Empecé a trabajar en Repsol"),
    ("我在谷歌工作", "我入职了腾讯"),
    ("我在谷歌工作", "我下周一开始在腾讯上班"),
]
MORE_IS_TOLD = [
    ("I live in Leeds with my husband Tom and our two kids", "I moved to York yesterday!"),
    ("I live in Leeds with my dog.", "We moved to York"),
    ("I live in Leeds with Tom.", "I live in York now."),
    ("I live with Tom in Leeds", "We moved to York"),
    ("My flatmate and I live in Leeds", "I moved to York"),
    ("I live in Leeds and work as a nurse.", "I moved to York."),
    ("Ich wohne mit meinem Mann in Köln", "Wir sind nach Berlin gezogen"),
    ("J'habite à Lyon avec mon mari", "J'ai déménagé à Paris"),
    ("Vivo con mi marido en Madrid", "Nos mudamos a Sevilla"),
    ("我和丈夫住在上海", "我们搬到北京了"),
]
NO_MOVE = [
    *("Nora moved to York", "Tom and Nora moved to York", "My parents moved to York", "We moved Grandma to York"),
    *("we moved the sofa to the attic", "We moved our meeting to York", "I moved to tears"),
    *("We moved to York Street office meeting", "We moved to the York office", "We moved to York Street"),
    *("I want to move to York", "We might move to York", "I'm moving to York next month", "We almost moved to York"),
    *("We never moved to York", "We would have moved to York", "If we moved to York I'd be happy"),
    *("We moved to York for a week", "We moved to York in 2010", "We moved to York ten years ago"),
    *("We moved to York when the kids were small", "We moved to York but came back", "I moved to York, then to Bath"),
    *("I have a second home in York", "We moved into our holiday home in York", "I visited York"),
    *("I also live in York now", "I live in York on weekdays now", "We live in York"),
    *("Wir sind nach Hause gezogen", "Meine Schwester ist nach Berlin gezogen", "Ich will nach Berlin ziehen"),
    *("Ma sœur a déménagé à Paris", "Je veux déménager à Paris", "On a installé à Paris une antenne"),
    *("Mi hermana se mudó a Sevilla", "Nos mudamos a Sevilla el mes que viene"),
    *("我妹妹搬到北京了", "我想搬到北京", "我们把沙发搬到阁楼了", "我们搬到楼上了"),
]
NO_JOB = [
    *("I started at Yale", "I started at Leeds University", "I started at PureGym", "I started at Kings Cross"),
    *("I started at Christmas", "I start at Monday", "I started at Level 3", "I start at 9 on Monday"),
    *("I start at Apple next month", "I want to start at Apple", "Nora started at Apple"),
    *("I started at Apple but left after a week", "I started at Starbucks on weekends", "I started with Python"),
    *("I started at Apple Park and walked home", "I started at Starbucks on the side"),
]


@pytest.mark.parametrize(("old", "new"), [*MOVED, *STARTED])
def test_a_told_change_retires_what_an_ordinary_statement_said(old: str, new: str) -> None:
    """Where in the town one lives, and who moves along, change nothing; a day that it begins on is no limit."""
    assert replaces(new, old)


@pytest.mark.parametrize(("old", "new"), MORE_IS_TOLD)
def test_what_tells_more_than_the_home_stays_below_the_newer_one(old: str, new: str) -> None:
    """The husband, the dog and the job are told there alone, and hold on."""
    assert not replaces(new, old)
    assert may_outdate(new, old)


@pytest.mark.parametrize("new", NO_MOVE)
def test_what_is_no_move_of_ones_own_retires_no_home(new: str) -> None:
    """Somebody else's move, a thing's, a wish, a stay, another time, a second home."""
    for old in ("I live in Leeds", "Ich wohne in Köln", "J'habite à Lyon", "Vivo en Madrid", "我住在上海"):
        assert not replaces(new, old)


@pytest.mark.parametrize("new", NO_JOB)
def test_what_is_no_new_job_retires_no_employer(new: str) -> None:
    """A school, a gym, a time, a plan for later, a job beside the other."""
    assert not replaces(new, "I work at Google")


@pytest.mark.parametrize("store", ["markdown"], indirect=True)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ich wohne in Bonn.", "Wir sind nach Berlin gezogen."),
        ("J'habite à Lyon.", "Nous avons déménagé à Paris."),
        ("Vivo en Madrid.", "Me mudé a Sevilla."),
        ("我住在北京。", "我搬到上海了。"),
        ("I live in Leeds.", "We moved to York."),
        ("Ich arbeite bei Siemens.", "Ich habe bei Bosch angefangen."),
    ],
)
def test_the_older_home_is_found_by_words_alone(person: Any, old: str, new: str) -> None:
    """Without vectors, among more facts than are looked at; no word is in both."""
    ann = person()
    ann.say(old)
    for text in (
        "Ich mag Tee.",
        "Ich bin Lehrerin.",
        "J'aime le thé.",
        "Me gusta el té.",
        "I like tea.",
        "我喜欢咖啡。",
    ):
        ann.say(text)
    ann.say(new)
    assert new in ann.texts() and old not in ann.texts()


def test_a_household_is_its_speakers() -> None:
    """Who says "we" lives there, too; who is somebody else's doesn't."""
    ours, theirs = find_slot("We live in Leeds"), find_slot("Nora lives in Leeds")
    assert ours is not None and ours.subject == "user" and ours.alone
    assert theirs is not None and theirs.subject == "nora"
