"""What the asker said comes before what other people said that is about as near."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.providers.token_bits import local_token_encoder
from langmem_plus.recall.answerable import INJECTED
from langmem_plus.recall.asker import BELOW, about_others, is_own, own_first
from langmem_plus.recall.built_in import judge
from langmem_plus.recall.candidates import make_candidates
from langmem_plus.recall.features import features
from langmem_plus.recall.readings import read
from langmem_plus.recall.rerank import rerank
from langmem_plus.records import MemoryHit, MemoryRecord

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MakeHit = Callable[..., MemoryHit]
SCORES = {"store": 0.5, "cosine": 0.4, "coverage": 1.0}


def said(make: MakeHit, name: str, text: str, role: str = "memory", **fields: object) -> MemoryHit:
    """What somebody said, under a name where one is given."""
    return make(text, dict(SCORES), role=role, metadata={"name": name} if name else {}, **fields)


@pytest.mark.parametrize(
    ("question", "lyon", "bonn", "oslo"),
    [
        ("where do I live?", "I live in Lyon.", "I live in Bonn.", "I live in Oslo."),
        ("wo wohne ich?", "Ich wohne in Lyon.", "Ich wohne in Bonn.", "Ich wohne in Oslo."),
        ("Où est-ce que j'habite ?", "J'habite à Lyon.", "J'habite à Bonn.", "J'habite à Oslo."),
        ("¿Dónde vivo?", "Vivo en Lyon.", "Vivo en Bonn.", "Vivo en Oslo."),
        ("我住在哪里？", "我住在里昂。", "我住在波恩。", "我住在奥斯陆。"),
    ],
)
@pytest.mark.parametrize("bits", [False, True])
def test_the_askers_words_come_first(hit: MakeHit, question: str, lyon: str, bonn: str, oslo: str, bits: bool) -> None:
    """Whoever asks, in whatever order things were said, with bits and by words alone; also against unnamed people."""
    encoder = local_token_encoder() if bits else None
    hits = [said(hit, "Ann", lyon), said(hit, "Bob", bonn), said(hit, "", oslo)]
    for asker, answer in [(" ann", lyon), ("Bob", bonn)]:
        for found in (hits, hits[::-1], hits[:2]):
            kept, _ = rerank(question, found, MemoryConfig(), NOW, encoder=encoder, asker=asker)
            assert kept[0].record.text == answer


def test_other_words_for_the_same(hit: MakeHit) -> None:
    """What the asker said in other words answers, too; what has nothing to do with the question doesn't come first."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    hits = [said(hit, "Ann", "I live in Lyon."), said(hit, "Bob", "I moved to Bonn."), said(hit, "Bob", "I drink tea.")]
    order = judge("where do I live?", hits, NOW, encoder, 9, "Bob").order
    assert order[1] > order[0] > order[2]


def test_other_words_of_another_language(hit: MakeHit) -> None:
    """Where words alone tell, what others say of themselves still comes behind the asker's best words."""
    hits = [said(hit, "Ann", "Ich wohne in Lyon."), said(hit, "", "Ich wohne in Oslo.")]
    hits += [said(hit, "Bob", "Ich bin nach Bonn gezogen."), said(hit, "Eve", "Die Post ist in Ulm.")]
    for encoder in (None, local_token_encoder()):
        order = judge("Wo wohne ich?", hits, NOW, encoder, 9, "Bob").order
        assert order.argmax() == 2


def test_a_stranger_is_no_speaker(hit: MakeHit) -> None:
    """Who said nothing under that name may be anybody: nothing is theirs, and nothing is others'."""
    hits = [said(hit, "Ann", "I live in Lyon."), said(hit, "Bob", "I live in Bonn.")]
    candidates = make_candidates(hits)
    assert not is_own("where do I live?", candidates.names, "Eve")
    assert not about_others("where do I live?", candidates, "Eve").any()


def test_what_may_be_about_the_asker_comes_behind_the_best(hit: MakeHit) -> None:
    """What others say of the asker, or of nobody, isn't behind all that the asker said."""
    hits = [said(hit, "Ann", "My flight is with my aunt."), said(hit, "Ann", "My flight.")]
    hits += [said(hit, "Bob", "I booked a flight for Ann."), said(hit, "", "The flight is at nine.")]
    hits += [said(hit, "Bob", "My flight is at ten.")]
    candidates = make_candidates(hits)
    total = np.array([3.0, 1.0, 9.0, 8.0, 7.0])
    assert about_others("when is my flight?", candidates, "Ann").tolist() == [False] * 4 + [True]
    changed = own_first("when is my flight?", candidates, "Ann", None, total)
    assert changed.tolist() == pytest.approx([3, 1, 3 * BELOW, 3 * BELOW, BELOW])


def test_other_kinds_keep_their_places(hit: MakeHit) -> None:
    """Replies, archives and documents aren't what somebody says of oneself."""
    hits = [said(hit, "Ann", "My flight is late.")]
    hits += [said(hit, "", "Your flight is at nine.", role) for role in ("assistant", "archive", "document")]
    total = np.array([1.0, 5.0, 6.0, 7.0])
    assert own_first("when is my flight?", make_candidates(hits), "Ann", None, total).tolist() == total.tolist()


@pytest.mark.parametrize(
    ("question", "asker", "expected"),
    [
        ("where do I live?", "Ann", True),
        ("where do I live?", "", False),
        ("when did I meet Bob?", "Ann", False),
        ("when did I, Ann, move?", "Ann Lee", True),
        ("when is our trip?", "Ann", False),
        ("tell me where the hotel is", "Ann", False),
        ("what do you know about me?", "Ann", True),
        ("Sag mir, wo das Hotel ist", "Ann", False),
        ("Wie heißt mein Hund?", "Ann", True),
        ("Comment je m'appelle ?", "Ann", True),
        ("¿Cómo me llamo?", "Ann", True),
        ("¿Qué pasó el mes pasado?", "Ann", False),
        ("¿Dónde está el trabajo?", "Ann", False),
        ("告诉我酒店在哪里", "Ann", False),
        ("我们什么时候走？", "Ann", False),
    ],
)
def test_questions_about_who_asks(hit: MakeHit, question: str, asker: str, expected: bool) -> None:
    """In the first person singular, and without another speaker's name; "tell me" says nothing of the rest."""
    candidates = make_candidates([said(hit, name, "I live here.") for name in ("Ann", "Ann Lee", "Bob", "")])
    assert is_own(question, candidates.names, asker) is expected


NAMES = ["", "Ann", "Bob"]
TEXTS = ["I live in Lyon.", "My dog is Rex.", "The port is open.", "We live here.", "Where do I live?", "我住在里昂。"]
ASKED = ["where do I live?", "what is my dog called?", "does Ann live here?", "我住在哪里？"]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(TEXTS)), min_size=1, max_size=6),
    st.sampled_from(ASKED),
)
def test_nothing_changes_without_an_asker(found: list[tuple[str, str]], question: str) -> None:
    """Nor where who asks said nothing of what was found: the same features, the same order."""
    hits = [_hit(name, text, place) for place, (name, text) in enumerate(found)]
    candidates = make_candidates(hits)
    plain = judge(question, hits, NOW)
    assert "own" not in plain.shares
    total = plain.order + 0
    assert own_first(question, candidates, "", None, total) is total
    assert own_first(question, candidates, "Eve", None, total) is total
    assert not about_others(question, candidates, "").any()
    same, other = features(question, candidates, NOW.date()), features(question, candidates, NOW.date(), None, "Eve")
    assert same.keys() == other.keys()
    assert all((same[name] == other[name]).all() for name in same)
    assert (judge(question, hits, NOW, asker="Eve").order == plain.order).all()


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(TEXTS)), min_size=1, max_size=6),
    st.sampled_from(ASKED[:2]),
)
def test_the_first_is_the_askers_where_it_is_as_near(found: list[tuple[str, str]], question: str) -> None:
    """Of what says the same, nobody's comes before the asker's; the shares add up to the order."""
    hits = [_hit(name, text, place) for place, (name, text) in enumerate(found)]
    judged = judge(question, hits, NOW, asker="Ann")
    order = judged.order.tolist()
    for (name, text), place in zip(found, order, strict=True):
        for (other, same), behind in zip(found, order, strict=True):
            if name == "Ann" != other and text == same:
                assert place > behind
    added = sum(judged.shares.values(), np.zeros(len(hits)))
    assert np.allclose(added[judged.order > 0], judged.order[judged.order > 0])


def _hit(name: str, text: str, place: int) -> MemoryHit:
    metadata = {"name": name} if name else {}
    record = MemoryRecord(id=f"r{place}", text=text, user_id="u", role="memory", metadata=metadata, created_at=NOW)
    return MemoryHit(record=record, scores=dict(SCORES))


def test_another_ones_own_words_are_no_answer(hit: MakeHit) -> None:
    """Nobody is told another one's home; what isn't said of oneself may be the answer, and one's own words are."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    rest = [said(hit, "Ann", "I drink green tea."), said(hit, "Ann", "My dog is called Rex.")]

    def sure(question: str, *hits: MemoryHit, asker: str = "Ann") -> float:
        found = judge(question, [*hits, *rest], NOW, encoder, 9, asker).probability
        assert found is not None
        return found

    bonn = said(hit, "Bob", "I live in Bonn.")
    assert sure("where do I live?", bonn) < INJECTED < sure("where do I live?", bonn, asker="")
    assert sure("where do I live?", bonn, said(hit, "Ann", "I live in Lyon.")) > 0.6
    assert sure("what is my wifi password?", said(hit, "Bob", "The wifi password is tango.")) > INJECTED


def test_a_reading_tells_of_whom_it_is() -> None:
    """Of oneself alone, not of "us"."""
    texts = ["I booked a flight", "I booked our flight", "Ich bin hier", "Wir sind hier", "我在这里", "我们在这里"]
    assert [read(text).own for text in texts] == [True, False] * 3
