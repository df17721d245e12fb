"""What speaks for a candidate: words, neighbours, sessions, speakers, times, token bits."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.providers.token_bits import AskedTokens, TextBits, similarities
from langmem_plus.recall.built_in import weigh
from langmem_plus.recall.candidates import Candidates
from langmem_plus.recall.cue_features import by_speaker
from langmem_plus.recall.features import REPLIED_SHARE, bm25, compare, features, scale, token_weights, with_replies
from langmem_plus.recall.readings import read

DAY = dt.date(2026, 3, 4)
NOON = dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC)


def candidates(texts: list[str], **fields: Any) -> Candidates:
    """Turns of one thread in their order, unless said otherwise."""
    count = len(texts)
    places = np.arange(count)
    known: dict[str, Any] = {
        "texts": [read(text) for text in texts],
        "names": [""] * count,
        "replies": np.zeros(count, bool),
        "stated": np.ones(count, bool),
        "before": np.where(places > 0, places - 1, count),
        "after": np.where(places < count - 1, places + 1, count),
        "sessions": np.zeros(count, np.int64),
        "newest": places,
        "days": [DAY] * count,
        "cosines": np.full(count, np.nan),
    }
    return Candidates(**{**known, **fields})


def test_an_answer_is_found_by_its_question() -> None:
    """The question that another speaker asked just before counts as the answer's words; one's own doesn't."""
    texts = ["What is your dog called?", "Rex", "Nice weather"]
    other = features("dog's name, called?", candidates(texts, names=["Ann", "Bob", "Ann"]), DAY)
    alone = features("dog's name, called?", candidates(texts, names=["Ann", "Ann", "Ann"]), DAY)
    assert other["bQ"][1] > 0 == alone["bQ"][1]


def test_a_window_and_a_session_share_their_words() -> None:
    """A turn beside a match has a part of it; a turn of another session none."""
    found = features(
        "tea",
        candidates(["green tea", "yes", "no", "hike"], sessions=np.array([0, 0, 0, 1]), before=np.array([4, 0, 1, 4])),
        DAY,
    )
    assert found["bW"][1] > found["bW"][3] == 0
    assert found["sB"][2] > found["sB"][3] == 0


def test_a_named_speaker_counts_where_it_tells_apart() -> None:
    """Not where the question names all speakers, or none."""
    names = ["Ann", "Bob Stone", ""]
    assert by_speaker("What did Ann buy?", names).tolist() == [1, 0, 0]
    assert by_speaker("Did bob hike?", names).tolist() == [0, 1, 0]
    assert by_speaker("Did Ann meet Bob?", names).tolist() == [0, 0, 0]
    assert by_speaker("Who hikes?", names).tolist() == [0, 0, 0]


def test_replies_help_the_questions_for_them() -> None:
    """And stand back for all others."""
    both = candidates(["Try Chez Leon", "I like soup"], replies=np.array([True, False]))
    assert features("Which restaurant did you recommend?", both, DAY)["role"].tolist() == [1, 0]
    assert features("What do I like?", both, DAY)["role"].tolist() == [0, 1]
    assert features("What do I like?", candidates(["soup"]), DAY)["role"].tolist() == [0]


def test_times_that_are_asked_for() -> None:
    """A date of the question, and a span counted from the day of asking."""
    days = [dt.date(2026, 2, 28), dt.date(2025, 5, 7)]
    two = candidates(["a", "b"], days=days)
    assert features("what happened last Saturday?", two, DAY)["win"].tolist() == [1, 0]
    assert features("what happened on May 7?", two, DAY)["date"].tolist() == [0, 1]


def test_a_token_that_all_hold_counts_little() -> None:
    """Though it is rare elsewhere: the speaker's name before each turn."""
    asked = AskedTokens(np.eye(2, 16, dtype=np.float32), np.array([8.0, 8.0], np.float32), np.zeros(16, np.float32))
    weights = token_weights(asked, np.array([[0.9, 0.9], [0.9, 0.1], [0.9, 0.1], [0.9, 0.0]]))
    assert weights[1] > 2 * weights[0] > 0
    assert np.isclose(weights.sum(), 1)


def test_bits_find_the_text_that_holds_the_tokens() -> None:
    """And the answer to a question that holds them."""
    signs = np.random.default_rng(0).integers(0, 256, (3, 2), dtype=np.uint8)
    asked_signs = (np.unpackbits(signs[:1], axis=1) * 2.0 - 1).astype(np.float32) / 4
    asked = AskedTokens(asked_signs, np.array([8.0], np.float32), asked_signs[0])
    bits = [TextBits(signs[[place]], signs[[place]]) for place in range(3)]
    given = candidates(["What is it?", "Rex", "no"], names=["Ann", "Bob", "Bob"])
    found = features("dog", given, DAY, compare(asked, bits))
    assert found["msb"][0] == 1
    assert found["msb"][1] > found["msb"][2]
    assert found["smax"][0] == 1


def test_a_question_of_which_nothing_says_anything_goes_by_sentences() -> None:
    """Unknown pieces have no rarity; nothing tells then how likely an answer is."""
    asked = AskedTokens(np.eye(1, 16, dtype=np.float32), np.zeros(1, np.float32), np.eye(16, dtype=np.float32)[0])
    near, far = np.array([[0b10000000, 0]], np.uint8), np.zeros((1, 2), np.uint8)
    compared = compare(asked, [TextBits(near, near), TextBits(far, far)])
    assert compared is not None
    assert compared.weights.tolist() == []
    given = candidates(["tea", "Rex"])
    found = features("who are they?", given, DAY, compared)
    assert found["smax"].tolist() == [1, 0]
    assert "msb" not in found
    judged = weigh("who are they?", given, dt.datetime(2026, 3, 1, tzinfo=dt.UTC), compared)
    assert (judged.row, judged.probability) == ("sentence vectors", None)
    assert compare(asked, [None]) is None


@given(st.lists(st.sampled_from([0.0, 1.9, 2.5, 8.0]), min_size=1, max_size=6), st.integers(1, 5), st.integers(0, 99))
def test_tokens_that_say_nothing_change_nothing(rarity: list[float], count: int, seed: int) -> None:
    """They aren't even compared, and what comes out is as if they were."""
    draw = np.random.default_rng(seed)
    tokens = draw.normal(size=(len(rarity), 16)).astype(np.float32)
    asked = AskedTokens(tokens, np.array(rarity, np.float32), tokens[0])
    bits = [TextBits(*draw.integers(0, 256, (2, 3, 2), dtype=np.uint8)) for _ in range(count)]
    every = similarities(tokens, [each.tokens for each in bits]).astype(np.float64)
    compared = compare(asked, bits)
    assert compared is not None
    if len(compared.weights):
        says = np.array(rarity) > 2
        assert np.allclose(compared.tokens, every[:, says], atol=1e-5)
        every[:, says] = compared.tokens  # rounding may move one over the bound of what holds a token
        weights = token_weights(asked, every)
        assert np.allclose(weights[says], compared.weights)
        assert not weights[~says].any()


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.text(max_size=40))
def test_features_are_in_bounds(texts: list[str], question: str) -> None:
    """Whatever is asked of whatever."""
    cosines = np.linspace(-1, 1, len(texts))
    for name, values in features(question, candidates(texts, cosines=cosines), DAY).items():
        assert values.shape == (len(texts),), name
        assert ((values >= 0) & (values <= 1 + 1e-9)).all(), name


def test_scaling_keeps_missing_ones_last() -> None:
    """And what is level is 0."""
    assert scale(np.array([1.0, np.nan, 3.0, 2.0])).tolist() == [0, 0, 1, 0.5]
    assert scale(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert scale(np.array([np.nan])).tolist() == [0]


def test_bm25_prefers_rare_words_and_short_texts() -> None:
    """Each once."""
    scores = bm25(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([3.0, 9.0, 3.0, 3.0]))
    assert scores[2] > scores[0] > scores[1] > scores[3] == 0


def test_what_was_only_asked_counts_less_than_what_was_told() -> None:
    """A turn that asks the same words again answers nothing."""
    texts = ["Do you like green tea?", "I like green tea."]
    found = features("Who likes green tea?", candidates(texts), DAY)
    assert found["tells"].tolist() == [0, 1]
    assert weigh("Who likes green tea?", candidates(texts), NOON, None).order.tolist()[1] == 1


def test_what_tells_of_the_past_answers_what_was() -> None:
    """Where the question asks for it."""
    texts = ["I painted the wall", "I will paint the wall"]
    assert features("What did I paint?", candidates(texts), DAY)["x_past"].tolist() == [1, 0]
    assert features("What will I paint?", candidates(texts), DAY)["x_past"].tolist() == [0, 0]


def test_a_name_answers_who_and_where() -> None:
    """One that the question doesn't hold; whoever is spoken to is no answer, one's own name is."""
    texts = ["I moved to Lyon", "I moved again", "Thanks, Bob!", "I am Ann, hello"]
    both = candidates(texts, names=["Ann", "Ann", "Ann", "Ann"])
    assert features("Where did I move?", both, DAY)["x_name"].tolist() == [1, 0, 1, 1]
    assert features("When did I move?", both, DAY)["x_name"].tolist() == [0, 0, 0, 0]
    assert features("Who lives in Lyon?", both, DAY)["x_name"].tolist() == [0, 0, 1, 1]
    talking = candidates([*texts, "Yes"], names=["Ann", "Ann", "Ann", "Ann", "Bob"])
    assert features("Where did I move?", talking, DAY)["x_name"].tolist() == [1, 0, 0, 1, 0]


def test_a_reply_says_what_a_turn_was_about() -> None:
    """A share of what another speaker's reply adds counts; what one says next oneself, doesn't."""
    cosines = np.array([[0.2, 0.6], [0.8, 0.4], [0.9, 0.9]])
    told = with_replies(cosines, cosines, candidates(["a", "b", "c"], names=["Ann", "Bob", "Bob"]))
    assert np.allclose(told, [[0.2 + REPLIED_SHARE * 0.6, 0.6], [0.8, 0.4], [0.9, 0.9]])


def test_priors_alone_say_nothing() -> None:
    """What speaks for a candidate whatever is asked puts nothing in order where nothing of the question is there."""
    judged = weigh("zebra", candidates(["I like tea", "Where is it?"]), NOON, None)
    assert judged.order.tolist() == [0, 0]
    assert judged.shares == {}
