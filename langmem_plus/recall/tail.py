"""Cut a thread to what one model call carries: its last messages, tool rounds whole, within their budgets.

The thread itself is never changed: what is left out of this call is still in the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langmem_plus.config import MemoryConfig
from langmem_plus.messages import Unit, last_human, tool_calls, units
from langmem_plus.tokens import TokenCounter, counter

MessageT = TypeVar("MessageT", bound=BaseMessage)

CUT_MARK = " […]"


class ByteCounter(TokenCounter):
    """Counts bytes in UTF-8 as others count tokens: of texts, names and tool calls alike. Media are no text: what
    their base64 takes isn't counted.
    """

    name = "bytes"

    def count(self, text: str) -> int:
        """The bytes of a text; a lone surrogate is sent as one."""
        return len(text.encode("utf-8", errors="replace"))

    def _cut(self, text: str, limit: int) -> int:
        return len(clip_bytes(text, limit))


BYTES = ByteCounter()


def clip_tail(
    messages: Sequence[MessageT], config: MemoryConfig, token_counter: TokenCounter | None = None
) -> list[MessageT]:
    """The messages of one model call, in order; the same list where everything fits.

    Always kept: system messages, the current user's message (cut to ``user_max_tokens``) and all that follows it, with
    an open tool round. Of what came before, the last ``tail_messages`` (with what is always kept) are taken; the turn
    in which that cut falls loses its tool logs before its words. Then it is cut to ``tail_max_tokens`` and to what
    ``max_prompt_tokens`` and ``max_prompt_bytes`` leave: tool logs go first, the oldest first, then the oldest
    messages. What was cut begins again with a user's message. A tool's result whose call is gone stays out.
    """
    measure = token_counter or counter(config)
    kept_messages = _answering(clip_user(messages, config, measure))
    current = last_human(kept_messages)
    parts = units(kept_messages)
    fixed, earlier = _sort_units(kept_messages, parts, len(kept_messages) - 1 if current is None else current)
    room = config.tail_messages - sum(unit.stop - unit.start for unit in fixed if not _is_system(kept_messages, unit))
    chosen = _newest(kept_messages, earlier, room)
    tokens, bytes_ = user_size(kept_messages, measure)
    chosen = _within(
        kept_messages,
        chosen,
        min(config.tail_max_tokens, config.max_prompt_tokens - tokens),
        config.max_prompt_bytes - bytes_,
        measure,
    )
    if len(chosen) < len(earlier):
        chosen = _from_human(kept_messages, chosen)
    kept = {place for unit in (*fixed, *chosen) for place in range(unit.start, unit.stop)}
    # A system message may stand inside of a round that is left out.
    return [each for place, each in enumerate(kept_messages) if place in kept or isinstance(each, SystemMessage)]


def clip_user(messages: Sequence[MessageT], config: MemoryConfig, measure: TokenCounter) -> list[MessageT]:
    """The messages, the current user's text cut to ``user_max_tokens``; media in it stay."""
    place = last_human(messages)
    if place is None:
        return list(messages)
    message = messages[place]
    limit = min(config.user_max_tokens, config.max_prompt_tokens)
    content = _clip_content(message.content, limit, config.max_prompt_bytes, measure)
    if content == message.content:
        return list(messages)
    return [*messages[:place], message.model_copy(update={"content": content}), *messages[place + 1 :]]


def clip_bytes(text: str, limit: int) -> str:
    """The longest beginning of at most ``limit`` bytes in UTF-8; no character is split."""
    data = text.encode("utf-8", errors="replace")
    return text if len(data) <= limit else data[: max(limit, 0)].decode("utf-8", errors="ignore")


def size(text: str) -> int:
    """Bytes in UTF-8."""
    return BYTES.count(text)


def user_size(messages: Sequence[BaseMessage], measure: TokenCounter) -> tuple[int, int]:
    """Tokens and bytes of the current user's text, as it stands in the message."""
    place = last_human(messages)
    content = "" if place is None else messages[place].content
    parts = (
        [content] if isinstance(content, str) else [text for part in content if (text := _text_of(part)) is not None]
    )
    return sum(map(measure.count, parts)), sum(map(size, parts))


def _clip_content(content: Any, limit: int, byte_limit: int, measure: TokenCounter) -> Any:
    if isinstance(content, str):
        return _clip_text(content, limit, byte_limit, measure)
    parts: list[Any] = []
    for part in content:
        text = _text_of(part)
        if text is None:
            parts.append(part)
            continue
        clipped = _clip_text(text, limit, byte_limit, measure)
        limit, byte_limit = limit - measure.count(clipped), byte_limit - size(clipped)
        if clipped or not text:
            parts.append(clipped if isinstance(part, str) else {**part, "text": clipped})
    return parts


def _clip_text(text: str, limit: int, byte_limit: int, measure: TokenCounter) -> str:
    if measure.count(text) <= limit and size(text) <= byte_limit:
        return text
    room = BYTES.clip(text, byte_limit - size(CUT_MARK))
    marked = measure.clip(room, limit - measure.count(CUT_MARK)) + CUT_MARK
    if marked != CUT_MARK and measure.count(marked) <= limit:
        return marked
    return measure.clip(BYTES.clip(text, byte_limit), limit)


def _text_of(part: Any) -> str | None:
    text = part if isinstance(part, str) else part.get("text") if part.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _answering(messages: list[MessageT]) -> list[MessageT]:
    """Without the results, ahead of the current turn, whose call was cut elsewhere: no provider takes them."""
    current = last_human(messages)
    called: set[str] = set()
    kept: list[MessageT] = []
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            called.update(call["id"] for call in tool_calls(message) if call["id"])
        earlier = current is not None and place < current
        if not (earlier and isinstance(message, ToolMessage) and message.tool_call_id not in called):
            kept.append(message)
    return kept


def _is_system(messages: Sequence[BaseMessage], unit: Unit) -> bool:
    return all(isinstance(message, SystemMessage) for message in messages[unit.start : unit.stop])


def _sort_units(messages: Sequence[BaseMessage], parts: list[Unit], current: int) -> tuple[list[Unit], list[Unit]]:
    """The units that every call carries, and those that came earlier."""
    fixed = [unit for unit in parts if unit.stop > current or _is_system(messages, unit)]
    return fixed, [unit for unit in parts if unit not in fixed]


def _newest(messages: Sequence[BaseMessage], earlier: list[Unit], room: int) -> list[Unit]:
    """The last turns of at most ``room`` messages. One that is too long loses its tool rounds, oldest first; else the
    rounds of one long turn would leave no word of the conversation.
    """
    turns: list[list[Unit]] = []
    for unit in earlier:
        if not turns or isinstance(messages[unit.start], HumanMessage):
            turns.append([])
        turns[-1].append(unit)
    chosen: list[Unit] = []
    for turn in reversed(turns):
        length = sum(unit.stop - unit.start for unit in turn)
        spare = [unit for unit in turn if unit.is_round]
        while length > room and spare:
            length -= spare[0].stop - spare[0].start
            turn.remove(spare.pop(0))
        if length > room:
            break
        room -= length
        chosen = [*turn, *chosen]
    return chosen


def _within(
    messages: Sequence[BaseMessage], chosen: list[Unit], limit: int, byte_limit: int, measure: TokenCounter
) -> list[Unit]:
    """The units that fit, left out in this order: tool rounds, oldest first; then the oldest."""
    spans = {unit: messages[unit.start : unit.stop] for unit in chosen}
    tokens = {unit: sum(map(measure.count_message, span)) for unit, span in spans.items()}
    sizes = {unit: sum(map(BYTES.count_message, span)) for unit, span in spans.items()}
    total, total_size = sum(tokens.values()), sum(sizes.values())
    for unit in sorted(chosen, key=lambda unit: (not unit.is_round, unit.start)):
        if total <= limit and total_size <= byte_limit:
            break
        total, total_size = total - tokens[unit], total_size - sizes[unit]
        del spans[unit]
    return [unit for unit in chosen if unit in spans]


def _from_human(messages: Sequence[BaseMessage], chosen: list[Unit]) -> list[Unit]:
    """Without the answers whose question was cut: some providers refuse a thread that begins with one."""
    first = next((i for i, unit in enumerate(chosen) if isinstance(messages[unit.start], HumanMessage)), len(chosen))
    return chosen[first:]
