"""Counting and cutting: exact where it can be, honest where it can't, and never waiting for the network."""

from __future__ import annotations

import base64
import http.server
import importlib.util
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langmem_plus import tokens
from langmem_plus.config import MemoryConfig
from langmem_plus.tokens import (
    MEDIA_TOKENS,
    MESSAGE_TOKENS,
    REPLY_TOKENS,
    ApproximateCounter,
    TiktokenCounter,
    TokenCounter,
    ToktokCounter,
    counter,
    ranks_file,
)

EVERYDAY = {
    "en": "My wife is called Anne and we moved to Lyon in the spring of 2021. She teaches chemistry at a school.",
    "de": "Meine Frau heißt Anne und wir sind im Frühling nach Lyon gezogen. Ich arbeite meistens zu Hause.",
    "ru": "Мою жену зовут Анна, и весной мы переехали в Лион. Обычно я работаю дома.",
    "zh": "我的妻子叫安妮，我们在二零二一年春天搬到了里昂。她在一所中学教化学，我通常在家远程工作。",
    "ja": "妻の名前はアンで、私たちは2021年の春にリヨンに引っ越しました。彼女は中学校で化学を教えています。",
    "ko": "제 아내의 이름은 안나이고 우리는 2021년 봄에 리옹으로 이사했습니다. 그녀는 화학을 가르칩니다.",
    "th": "ภรรยาของผมชื่อแอนและเราย้ายไปอยู่ลียงเมื่อฤดูใบไม้ผลิ ผมมักจะทำงานที่บ้าน",
    "ar": "زوجتي اسمها آن وانتقلنا إلى ليون في الربيع. أعمل عادة من المنزل.",
    "hi": "मेरी पत्नी का नाम ऐन है और हम वसंत में ल्योन चले गए। मैं आमतौर पर घर से काम करता हूँ।",
    "code": "def clip(self, text: str, limit: int) -> str:\n    if self.count(text) <= limit:\n        return text\n",
    "json": '[{"id": "a81bc81b-dead-4e5d-abff-90865d1e13b1", "importance": 0.35, "tags": ["a", "b"]}]',
    "emoji": "Great 😀😀 party 🎉🎉🎉 family 👨‍👩‍👧‍👦 flag 🇫🇷",
}


@pytest.fixture(autouse=True)
def fresh_counters() -> Iterator[None]:
    """Every test chooses its counter anew."""
    tokens._counter.cache_clear()
    tokens._announce_approximation.cache_clear()
    yield
    tokens._counter.cache_clear()
    tokens._announce_approximation.cache_clear()


@pytest.fixture(scope="session")
def rank_data() -> bytes:
    """tiktoken's rank file, rebuilt from the ranks that toktok-rs holds; byte for byte what tiktoken downloads."""
    import toktok

    ranks = toktok._encoding(tokens.ENCODING)
    lines = (base64.b64encode(ranks.decode_single_token_bytes(rank)) + b" %d\n" % rank for rank in range(199_998))
    return b"".join(lines)


@pytest.fixture
def no_ranks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache folder for tiktoken."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make packages look as if they weren't installed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(tokens, "find_spec", lambda name: None if name in names else real(name))


class CharacterCounter(TokenCounter):
    """One token a character; what the shared parts do shows without any vocabulary."""

    name = "characters"

    def count(self, text: str) -> int:
        """The characters."""
        return len(text)

    def _cut(self, text: str, limit: int) -> int:
        return min(limit, len(text))


def test_ranks_on_disk_are_used(no_ranks: Path, rank_data: bytes) -> None:
    """tiktoken counts when its rank file is on disk, with the same numbers as toktok-rs."""
    path = ranks_file()
    assert path is not None and path.name == "fb374d419588a4632f3f557e76b4b70aebbca790"
    path.write_bytes(rank_data)
    found = counter()
    assert isinstance(found, TiktokenCounter)
    other = ToktokCounter()
    for text in EVERYDAY.values():
        assert found.count(text) == other.count(text)
        assert [found.clip(text, limit) for limit in range(0, 40, 7)] == [
            other.clip(text, limit) for limit in range(0, 40, 7)
        ]


def test_damaged_ranks_are_not_handed_to_tiktoken(no_ranks: Path) -> None:
    """A damaged rank file isn't used: tiktoken would delete it and download another one."""
    path = ranks_file()
    assert path is not None
    path.write_bytes(b"not the ranks")
    assert counter().name == "toktok:o200k_base"
    assert path.read_bytes() == b"not the ranks"


def test_without_ranks_toktok_counts_quietly(no_ranks: Path, caplog: pytest.LogCaptureFixture) -> None:
    """toktok-rs takes over without a warning, because its numbers are the same."""
    caplog.set_level(logging.WARNING)
    assert counter(MemoryConfig()).name == "toktok:o200k_base"
    assert counter() is counter(MemoryConfig())
    assert not caplog.records


def test_without_anything_an_approximation_says_so_once(
    no_ranks: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With neither ranks nor toktok-rs the counter is named an approximation, and one warning says what helps."""
    hide(monkeypatch, "toktok")
    caplog.set_level(logging.WARNING)
    assert [counter().name for _ in range(3)] == ["approximate"] * 3
    assert counter(MemoryConfig(allow_downloads=False)).exact is False
    assert [record.message for record in caplog.records if "approximate" in record.message] == [
        record.message for record in caplog.records
    ]
    assert len(caplog.records) == 1
    assert "langmem-plus[local]" in caplog.records[0].message


def test_a_switched_off_cache_means_no_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an empty TIKTOKEN_CACHE_DIR tiktoken would download at every start, so it isn't asked."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert ranks_file() is None
    assert counter(MemoryConfig(allow_downloads=True)).name == "toktok:o200k_base"


def serve(data: bytes) -> tuple[http.server.ThreadingHTTPServer, str]:
    """A server on loopback that answers everything with ``data``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}/{{}}.tiktoken"


def test_ranks_are_fetched_only_when_allowed(no_ranks: Path, monkeypatch: pytest.MonkeyPatch, rank_data: bytes) -> None:
    """With downloads allowed the rank file is fetched once and kept whole; without, nothing is asked for."""
    server, url = serve(rank_data)
    try:
        monkeypatch.setattr(tokens, "RANKS_URL", url)
        assert counter(MemoryConfig()).name == "toktok:o200k_base"
        assert list(no_ranks.iterdir()) == []
        tokens._fetch_ranks()
        assert tokens.ranks_on_disk()
        assert len(list(no_ranks.iterdir())) == 1
    finally:
        server.shutdown()
        server.server_close()


def test_a_failed_download_steps_down(
    no_ranks: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No network is no obstacle: the next counter takes over, and the warning says why."""
    monkeypatch.setattr(tokens, "RANKS_URL", "http://127.0.0.1:1/{}.tiktoken")
    assert counter(MemoryConfig(allow_downloads=True)).name == "toktok:o200k_base"
    assert sum("couldn't be downloaded" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("language", EVERYDAY)
def test_the_approximation_is_fair_to_every_script(language: str) -> None:
    """The estimate is within 15 % below and 40 % above the true count, in scripts with and without spaces."""
    text = EVERYDAY[language]
    assert 0.85 <= ApproximateCounter().count(text) / ToktokCounter().count(text) <= 1.4


def test_the_approximation_is_linear_in_odd_texts() -> None:
    """Long runs of one kind are counted without backtracking, and keys and hashes aren't counted as words."""
    estimate = ApproximateCounter()
    for run in ("a", "/", "1", "a/", "あ", " ", "\n", "=", "é", "\ud83d"):
        assert estimate.count(run * 100_000) > 0
    key = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    assert estimate.count(key) / ToktokCounter().count(key) > 0.85


TEXTS = st.one_of(
    st.text(max_size=300),
    st.text(alphabet=st.characters(codec=None), max_size=80),  # lone surrogates too
    st.lists(st.sampled_from(list(EVERYDAY.values())), max_size=4).map(" ".join),
    st.text(alphabet="a .\n\u200d\u0301😀👨👩\U0001f3fd。字\ud83d\ude00<|endoftext|>", max_size=120),
)
COUNTERS = st.sampled_from([ToktokCounter(), ApproximateCounter(), CharacterCounter()])


@settings(deadline=None, max_examples=400)
@example(text="0:0\x1b0:\x080\x1b0:\x080:0:\x1b\U00040000", limit=22, found=ApproximateCounter())
@given(text=TEXTS, limit=st.integers(-1, 60), found=COUNTERS)
def test_a_clip_keeps_its_limit(text: str, limit: int, found: TokenCounter) -> None:
    """A clip is a prefix of the text, never above its limit, whole when it fits, and splits no character."""
    piece = found.clip(text, limit)
    assert text.startswith(piece)
    assert found.count(piece) <= max(0, limit)
    if found.count(text) <= limit:
        assert piece == text
    if 0 < len(piece) < len(text):
        before, following = piece[-1], text[len(piece)]
        assert not ("\ud800" <= before <= "\udbff" and "\udc00" <= following <= "\udfff")
        assert following not in "\u0301\u200d\U0001f3fd" and before != "\u200d"


def test_a_short_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recall counts the same headings and lines again and again; long texts aren't remembered."""
    found, asked = ToktokCounter(), []
    count = found._toktok.batch_count
    monkeypatch.setattr(
        found._toktok, "batch_count", lambda texts, *rest, **more: asked.append(texts) or count(texts, *rest, **more)
    )
    assert [found.count(text) for text in ("one tea", "one tea", "")] == [2, 2, 0]
    assert found.count("tea " * 1000) == found.count("tea " * 1000)
    assert [text[:7] for (text,) in asked] == ["one tea", "", "tea tea", "tea tea"]


@settings(deadline=None, max_examples=60)
@given(text=TEXTS, found=COUNTERS)
def test_a_clip_of_a_clip_changes_nothing(text: str, found: TokenCounter) -> None:
    """Clipping twice gives what clipping once gives, so that prompts are stable."""
    once = found.clip(text, 20)
    assert found.clip(once, 20) == once


def test_a_clip_prefers_the_end_of_a_sentence() -> None:
    """A cut moves back to a sentence's end in the last half, else to a space in the last third, else stays at the
    token.
    """
    found = CharacterCounter()
    assert found.clip("We moved to Lyon. She teaches.", 20) == "We moved to Lyon."
    assert found.clip("Where do I live now? This is a long sentence", 30) == "Where do I live now?"
    assert found.clip("Yes. We moved to Lyon in the spring", 20) == "Yes. We moved to"
    assert found.clip("我们搬到了里昂。她教化学", 10) == "我们搬到了里昂。"
    assert found.clip("Pi is 3.14159 and so on", 14) == "Pi is 3.14159"
    assert found.clip("x" * 30, 10) == "x" * 10


def test_long_runs_are_clipped_in_linear_time() -> None:
    """Long runs of one character are no reason to hang, wherever the cut falls."""
    for run in (".", "a", " ", "\n", "。", "é", "\u0301", "\u200d", "ab. "):
        for found in (ToktokCounter(), ApproximateCounter(), CharacterCounter()):
            assert found.count(found.clip(run * 200_000, 3000)) <= 3000


def test_special_tokens_are_text() -> None:
    """A text that looks like a special token counts as text and raises nothing."""
    assert ToktokCounter().count("<|endoftext|>") > 1


def test_messages_count_their_tools_and_names() -> None:
    """Role and delimiters, names, tool calls and results all count; the reply's opening counts once."""
    found = CharacterCounter()
    call = {"name": "search", "args": {"q": "x"}, "id": "call-1"}
    assert found.count_messages([]) == 0
    assert found.count_messages([SystemMessage("abc")]) == 3 + MESSAGE_TOKENS + REPLY_TOKENS
    assert found.count_message(HumanMessage("abc", name="Ann")) == MESSAGE_TOKENS + 3 + 3 + 1
    assert found.count_message(AIMessage("", tool_calls=[call])) == 2 * MESSAGE_TOKENS + len("search") + len(
        '{"q":"x"}'
    )
    assert found.count_message(ToolMessage("found", tool_call_id="call-1")) == MESSAGE_TOKENS + 5 + 6
    assert found.count_messages([("human", "hi"), {"role": "assistant", "content": "ho"}]) == (
        2 * MESSAGE_TOKENS + 4 + REPLY_TOKENS
    )


def test_media_has_a_fixed_cost() -> None:
    """Images, audio and files cost the same however long their base64 is, and a repeated tool block costs nothing."""
    payload = "A" * 40_000
    for block in (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{payload}"}},
        {"type": "image", "base64": payload, "mime_type": "image/png"},
        {"type": "file", "file": {"file_data": payload, "filename": "a.pdf"}},
        {"type": "input_audio", "input_audio": {"data": payload, "format": "wav"}},
        {"type": "image", "source": {"type": "base64", "data": payload}},
    ):
        message = HumanMessage([{"type": "text", "text": "look"}, block])
        assert CharacterCounter().count_message(message) == MESSAGE_TOKENS + 4 + MEDIA_TOKENS
    call: Any = {"name": "f", "args": {}, "id": "1"}
    message = AIMessage([{"type": "tool_use", "id": "1", "name": "f", "input": {}}], tool_calls=[call])
    assert CharacterCounter().count_message(message) == 2 * MESSAGE_TOKENS + 1 + 2
    assert (
        CharacterCounter().count_message(HumanMessage(["plain ", {"type": "odd", "x": 1}])) == MESSAGE_TOKENS + 6 + 20
    )
