"""Count tokens and cut texts to a token budget, without ever waiting for the network.

`counter` takes the first that is at hand: tiktoken with its rank file on disk, toktok-rs (the same counts from a
wheel), an approximation that says so in its name. tiktoken fetches missing ranks with no time-out, so it is only asked
when the file is there and whole, or when downloads are allowed; then the file is fetched here, with a time-out.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import json
import logging
import math
import os
import re
import tempfile
import unicodedata
import urllib.request
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage, MessageLikeRepresentation, ToolMessage, convert_to_messages

logger = logging.getLogger(__name__)

ENCODING = "o200k_base"  # GPT-4o and everything after it; other providers' counts are near it
RANKS_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
RANKS_SHA256 = {ENCODING: "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"}  # as tiktoken pins it
DOWNLOAD_SECONDS = 20.0  # without an answer for so long, a download is given up

MEDIA_TOKENS = 765  # what OpenAI charges for a 1024 × 1024 image in high detail (85 + 4 × 170); base64 is no text
MESSAGE_TOKENS = 4  # a message's role and delimiters, as OpenAI's chat format spends them
REPLY_TOKENS = 3  # every call ends with the opening of the reply

# Short texts whose count is remembered: a recall counts headings, the question and each line several times.
_REMEMBERED, _SHORT = 4096, 2000
# A cut moves back to the last sentence end if that stands in the last half, else to a space in the last third.
_SENTENCE_PART, _SPACE_PART = 1 / 2, 2 / 3
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？｡]++[」』”’）]*+|\n")
_SPACE = re.compile(r"\s+")
# Blocks that repeat what stands in `tool_calls`.
_REPEATED = frozenset({"tool_use", "tool_call", "tool_call_chunk", "input_json_delta", "function_call"})
_PAYLOADS = ("data", "base64", "file_data", "image_url", "input_audio", "source", "url", "file_id", "file")


class Downloads(Protocol):
    """The one setting that counting depends on; `MemoryConfig` has it."""

    @property
    def allow_downloads(self) -> bool:
        """Whether files may be fetched from the network."""
        ...


class TokenCounter(ABC):
    """Counts and cuts. ``name`` says how: ``tiktoken:o200k_base``, ``toktok:o200k_base`` or ``approximate``."""

    name: str
    exact: bool = True

    @abstractmethod
    def count(self, text: str) -> int:
        """The tokens of a text; 0 for an empty one."""

    @abstractmethod
    def _cut(self, text: str, limit: int) -> int:
        """The length in characters of the longest prefix of about ``limit`` tokens; ``len(text)`` if all of it fits."""

    def clip(self, text: str, limit: int) -> str:
        """A prefix of at most ``limit`` tokens: the whole text if it fits, else up to a sentence end in its last half,
        else up to a space in its last third, else up to a token's end. No character or surrogate pair is split."""
        if limit <= 0:
            return ""
        end, allowed = self._cut(text, limit), limit
        if end >= len(text):
            return text
        piece = _tidy(text, end)
        # The tokens of a prefix are not always the first tokens of the text: cut again until it really fits.
        while piece and (over := self.count(piece) - limit) > 0:
            allowed = max(0, allowed - over)
            piece = _tidy(piece, min(self._cut(piece, allowed), len(piece) - 1)) if allowed else ""
        return piece

    def count_messages(self, messages: Iterable[MessageLikeRepresentation]) -> int:
        """The tokens of a model call: texts, names, tool calls and their results, media at `MEDIA_TOKENS` each."""
        read = convert_to_messages(list(messages))
        return sum(self.count_message(message) for message in read) + (REPLY_TOKENS if read else 0)

    def count_message(self, message: BaseMessage) -> int:
        """The tokens of one message, its role and delimiters included."""
        total = MESSAGE_TOKENS + self._count_content(message.content)
        if message.name:
            total += self.count(message.name) + 1
        if isinstance(message, AIMessage):
            for call in (*message.tool_calls, *message.invalid_tool_calls):
                arguments = call["args"] if isinstance(call["args"], str) else _as_json(call["args"])
                total += MESSAGE_TOKENS + self.count(call["name"] or "") + self.count(arguments)
        if isinstance(message, ToolMessage):
            total += self.count(message.tool_call_id)
        return total

    def _count_content(self, content: str | list[Any]) -> int:
        if isinstance(content, str):
            return self.count(content)
        return sum(self.count(block) if isinstance(block, str) else self._count_block(block) for block in content)

    def _count_block(self, block: Any) -> int:
        kind = str(block.get("type", "")) if isinstance(block, dict) else ""
        if kind in _REPEATED:
            return 0
        if not isinstance(block, dict):
            return self.count(str(block))
        for field in ("text", "reasoning", "thinking"):
            if isinstance(block.get(field), str):
                return self.count(block[field])
        if any(name in block for name in _PAYLOADS):
            return MEDIA_TOKENS
        return self.count(_as_json(block))


class TiktokenCounter(TokenCounter):
    """OpenAI's own counts, from rank files that are on disk."""

    name = f"tiktoken:{ENCODING}"

    def __init__(self) -> None:
        self._encoding = importlib.import_module("tiktoken").get_encoding(ENCODING)

    def count(self, text: str) -> int:
        """The tokens of a text; special tokens count as the text that they look like."""
        return len(self._encoding.encode_ordinary(encodable(text)))

    def _cut(self, text: str, limit: int) -> int:
        found = self._encoding.encode_ordinary(encodable(text))
        if len(found) <= limit:
            return len(text)
        return len(self._encoding.decode_bytes(found[:limit]).decode("utf-8", errors="ignore"))


class ToktokCounter(TokenCounter):
    """The same counts from a wheel that holds the ranks."""

    name = f"toktok:{ENCODING}"

    def __init__(self) -> None:
        self._toktok = importlib.import_module("toktok")
        self._remembered = functools.lru_cache(maxsize=_REMEMBERED)(self._count)

    def count(self, text: str) -> int:
        """The tokens of a text; special tokens count as the text that they look like."""
        return self._remembered(text) if len(text) <= _SHORT else self._count(text)

    def _count(self, text: str) -> int:
        return int(self._toktok.batch_count([encodable(text)], ENCODING, threads=1)[0])

    def _cut(self, text: str, limit: int) -> int:
        return len(self._toktok.truncate(encodable(text), limit, ENCODING)[0])


# Each kind of run, and how many of its characters make a token: measured against o200k_base on everyday text in 20
# languages, then rounded so that the estimate is seldom below the true count and a budget holds.
_KINDS: dict[str, tuple[str, float]] = {
    "dense": (r"(?=[A-Za-z+/=]{0,32}[0-9])[A-Za-z0-9+/=]{16,}", 1.7),  # keys, hashes, base64
    "latin": (r"[A-Za-z]+(?![^\W\d_])", 8.0),
    "spaced_digits": (r" [0-9]+", 3.0),
    "digits": (r"[0-9]+", 3.0),
    "break": (r"\s*[\r\n]+\s*", 1.0),
    "space": (r"\s+", 1.0),
    "han": (r"[\u2e80-\u2fff\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+", 1.1),
    "kana": (r"[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]+", 1.35),
    "hangul": (r"[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]+", 1.25),
    "unspaced": (r"[\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff]+", 1.5),  # Lao, Burmese, Khmer
    "abugida": (r"[\u0900-\u0e7f\u0f00-\u0fff]+", 2.0),  # the scripts of India, Thai, Tibetan
    "extended": (r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u0300-\u036f]+", 2.8),
    "marks": (r"[!-/:-@\[-`{-~\u3001-\u3003\u3008-\u3011\uff01-\uff0f]+", 1.6),
    "alphabet": (r"[^\W\d_]+", 3.0),
    "symbol": (r".", 0.65),
}
_RUNS = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, (pattern, _) in _KINDS.items()), re.DOTALL)
_WHOLE = frozenset({"latin", "digits", "marks", "alphabet", "extended"})  # runs that never share a token


class ApproximateCounter(TokenCounter):
    """An estimate from kinds of characters, fair to scripts without spaces."""

    name = "approximate"
    exact = False

    def count(self, text: str) -> int:
        """The estimated tokens of a text."""
        return math.ceil(round(sum(_cost(match) for match in _RUNS.finditer(text)), 6))

    def _cut(self, text: str, limit: int) -> int:
        spent = 0.0
        for match in _RUNS.finditer(text):
            cost = _cost(match)
            if round(spent + cost, 6) > limit:
                fitting = int((limit - spent) * _KINDS[match.lastgroup or "symbol"][1])
                return min(match.start() + fitting, match.end() - 1)  # not all of it fits, however it is rounded
            spent += cost
        return len(text)


def _cost(match: re.Match[str]) -> float:
    kind = match.lastgroup or "symbol"
    length = match.end() - match.start()
    if kind == "space":
        return 0.0 if length == 1 else 1.0  # a single space belongs to the word after it
    if kind == "break":
        return 1.0
    if kind == "spaced_digits":
        return 1.0 + math.ceil((length - 1) / _KINDS[kind][1])  # but never to a number
    cost = length / _KINDS[kind][1]
    return float(math.ceil(cost)) if kind in _WHOLE else cost


_prepared: set[bool] = set()  # for which of `counter`'s answers the files are loaded


def counter(config: Downloads | None = None) -> TokenCounter:
    """The best counter at hand, one a process. An approximation is announced by one warning.

    Args:
        config: says whether tiktoken's rank file may be downloaded; None means no.
    """
    return _counter(config is not None and config.allow_downloads)


async def aprepare(config: Downloads | None = None) -> None:
    """Load the counter's files in a thread, so that no event loop waits for them; nothing where they are loaded."""
    wanted = config is not None and config.allow_downloads
    if wanted not in _prepared:
        await asyncio.to_thread(lambda: counter(config).count("loaded"))
        _prepared.add(wanted)


def counter_at_hand() -> type[TokenCounter]:
    """The best counter that works now, without a download."""
    if find_spec("tiktoken") and ranks_on_disk():
        return TiktokenCounter
    return ToktokCounter if find_spec("toktok") else ApproximateCounter


@functools.cache
def _counter(allow_downloads: bool) -> TokenCounter:
    if allow_downloads and find_spec("tiktoken") and not ranks_on_disk():
        _fetch_ranks()
    found = counter_at_hand()
    if found is ApproximateCounter:
        _announce_approximation()
    elif found is ToktokCounter:
        logger.info("tokens: tiktoken's ranks aren't on disk, so toktok-rs counts; the numbers are the same.")
    return found()


@functools.cache
def _announce_approximation() -> None:
    logger.warning(
        "tokens: counts are approximate, because neither tiktoken's rank file nor toktok-rs is here. "
        "Run: pip install 'langmem-plus[local]'"
    )


def ranks_file() -> Path | None:
    """Where tiktoken keeps the ranks; None when its cache is switched off (then it would download at every start)."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":
        return None
    name = hashlib.sha1(RANKS_URL.format(ENCODING).encode()).hexdigest()
    return Path(folder or Path(tempfile.gettempdir()) / "data-gym-cache") / name


def ranks_on_disk() -> bool:
    """Whether the rank file is there and whole; tiktoken would replace a damaged one from the network."""
    path = ranks_file()
    try:
        return path is not None and hashlib.sha256(path.read_bytes()).hexdigest() == RANKS_SHA256[ENCODING]
    except OSError:
        return False


def _fetch_ranks() -> None:
    path = ranks_file()
    if path is None:
        logger.warning("tokens: TIKTOKEN_CACHE_DIR is empty, so there is nowhere to keep tiktoken's ranks.")
        return
    try:
        with urllib.request.urlopen(RANKS_URL.format(ENCODING), timeout=DOWNLOAD_SECONDS) as answer:
            data = answer.read()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{uuid.uuid4()}.tmp")
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:  # URLError and TimeoutError are OSErrors
        logger.warning("tokens: tiktoken's ranks couldn't be downloaded (%s); counting without them.", error)


def encodable(text: str) -> str:
    """The text with lone surrogates, which no encoding can count, replaced one for one."""
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode("utf-8")


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _tidy(text: str, end: int) -> str:
    """``text[:end]``, moved back to a sentence end or a space in its last part, and off the inside of a character."""
    while 0 < end < len(text) and _inside_character(text, end):
        end -= 1
    if end >= len(text):
        return text
    for boundary, part in ((_SENTENCE_END, _SENTENCE_PART), (_SPACE, _SPACE_PART)):
        found = boundary.finditer(text, int(end * part), end + 1)
        ends = [match.end() for match in found if match.end() <= end and not _inside_character(text, match.end())]
        if ends:
            return text[: ends[-1]].rstrip()
    return text[:end].rstrip()


def _inside_character(text: str, end: int) -> bool:
    """Whether a cut at ``end`` parts a surrogate pair, or an accent, joiner or selector from what it belongs to."""
    following, before = text[end], text[end - 1]
    return (
        "\udc00" <= following <= "\udfff"
        or before == "\u200d"
        or following == "\u200d"
        or unicodedata.category(following) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= following <= "\U0001f3ff"
    )
