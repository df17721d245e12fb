"""Words for keyword search, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.text import STOP_WORDS, index_tokens, stem, tokens, words


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("running dog", "The dogs ran; one keeps running."),
        ("green tea", "GREEN-TEA!"),
        ("绿茶", "我喜欢喝绿茶。"),
        ("茶", "我喜欢喝绿茶。"),
        ("東京", "来週、東京へ行きます"),
        ("コーヒー", "毎朝コーヒーを飲む"),
        ("커피", "아침마다 커피를 마신다"),
        ("물", "물을 마신다"),
        ("차", "녹차를 마신다"),
        ("กาแฟ", "ฉันชอบกาแฟดำ"),
        ("ກາເຟ", "ຂ້ອຍມັກກາເຟ"),
        ("កាហ្វេ", "ខ្ញុំចូលចិត្តកាហ្វេ"),
        ("ကော်ဖီ", "ကျွန်တော် ကော်ဖီ ကြိုက်တယ်"),
        ("चाय", "मुझे चाय पसंद है"),
        ("தேநீர்", "எனக்கு தேநீர் பிடிக்கும்"),
        ("كتاب", "هذا كِتَاب جميل"),
        ("קפה", "אני אוהב קָפֶה"),
        ("чай", "Я люблю чай"),
        ("cafe", "We met in the Café de Flore"),
        ("café", "We met in the Cafe de Flore"),
        ("résumé", "his resume"),
        ("istanbul", "İstanbul'da yaşıyorum"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("２０２４", "in 2024"),
        ("straße", "Hauptstrasse / STRASSE"),
        ("e\u0301cole", "école"),
        ("soft", "so\u00adft"),
        ("O'Brien", "Ms O’Brien"),
    ],
)
def test_a_question_and_a_text_that_holds_its_words_share_tokens(question: str, text: str) -> None:
    """Case, width, accents, inflection, and where a word begins in unspaced writing make no difference."""
    assert set(tokens(question)) & set(index_tokens(text))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("绿茶", "红茶很好"),
        ("茶", "我喜欢咖啡"),
        ("tea", "team steak"),
        ("ก", "ฉันชอบกาแฟดำ"),
        ("चाय", "मुझे कॉफ़ी पसंद है"),
        ("й", "и"),
        ("the of and", "the of and"),
        ("!?…", "!?…"),
    ],
)
def test_what_only_looks_alike_shares_none(question: str, text: str) -> None:
    """Neither part of a word, nor one letter of an alphabet, nor stop words and punctuation find anything."""
    assert not set(tokens(question)) & set(index_tokens(text))


def test_words_are_unstemmed_and_keep_stop_words_and_accents() -> None:
    """`words` is for comparing what was said; only case and form of writing are folded."""
    assert words("The Café's dogs don't run") == ["the", "café", "s", "dogs", "don", "t", "run"]


def test_single_characters_are_indexed_once_and_never_asked_for_beside_pairs() -> None:
    """They make one-character questions work without making longer ones match everything."""
    assert tokens("茶道茶道") == ["茶道", "道茶", "茶道"]
    assert index_tokens("茶道茶道") == ["茶道", "道茶", "茶道", "茶", "道"]
    assert index_tokens("茶") == ["茶"]


def test_punctuation_between_characters_ends_a_run() -> None:
    """No pair spans a full stop, a middle dot or a space."""
    assert words("東。京・都 大") == ["東", "京", "都", "大"]


def test_stop_words_are_their_own_words() -> None:
    """A stop word with an apostrophe leaves only stop words, so it leaves nothing."""
    assert tokens("I don't think they'll won't") == ["think"]
    assert all(words(word) == [word] for word in STOP_WORDS)


def test_stems_are_those_of_english() -> None:
    """Words of other languages mostly pass unchanged."""
    assert [stem(word) for word in ("memories", "connected", "чай")] == ["memori", "connect", "чай"]


@given(st.text())
def test_any_text_gives_tokens_that_fts_takes_literally(text: str) -> None:
    """No token holds a quote, a space or another ASCII character that ends a token."""
    for token in index_tokens(text):
        assert token
        assert all(char.isalnum() for char in token if char.isascii())


@given(st.text(alphabet="茶道大学東京カキがกาแ커피abc é.'-", max_size=30))
def test_a_text_is_found_by_each_of_its_own_search_tokens(text: str) -> None:
    """What a question of the same words asks for is indexed."""
    assert set(tokens(text)) <= set(index_tokens(text))


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_words_are_the_words_of_any_text(text: str) -> None:
    """ASCII has a way of its own, which gives the same: beside a word in another script, it isn't taken."""
    assert words(text) == words(f"{text} ä")[:-1]
