"""Ask once for everything: the facts of some turns, what they do to what is known, and the summary when it is due.

The memories are found by the turns' own words, before there are facts. The answer is judged as those of the separate
questions are: facts need the support of their turn, changes are read by `decide.decide_by_answer`, and only the
summary's own thread is written. An answer that can't be read gives way to rules, and to adding everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelAnswerError
from langmem_plus.prompts import (
    Conversation,
    ExtractedFact,
    FactsAndSummary,
    PlacedFact,
    PlacedFacts,
    Said,
    Summary,
    fact_label,
    render_combination,
)
from langmem_plus.providers.too_long import is_too_long
from langmem_plus.records import Fact, MemoryRecord, Scope
from langmem_plus.remember.decide import is_request
from langmem_plus.remember.draft import Draft, Proposal, Proposed, SummaryDraft
from langmem_plus.remember.facts import (
    Drawn,
    draw_facts,
    dropped_warning,
    fact_of,
    facts_by_rules,
    is_supported,
    make_fact,
    requests_of,
    with_requests,
)
from langmem_plus.remember.forgetting import concerns
from langmem_plus.remember.neighbours import find_neighbours
from langmem_plus.remember.points import read_points
from langmem_plus.remember.sentences import own_words
from langmem_plus.remember.steps import Ask, Steps
from langmem_plus.remember.summarize import Due, conversation, find_due
from langmem_plus.services import Services
from langmem_plus.speakers import name_of
from langmem_plus.tokens import counter


def groups(turns: Sequence[MemoryRecord], config: MemoryConfig) -> list[list[MemoryRecord]]:
    """The turns that one call reads together: of one thread, in their order, as many as the settings allow."""
    tokens = counter(config)
    found: list[list[MemoryRecord]] = []
    room = 0
    for turn in turns:
        length = tokens.count(own_words(turn.text))
        last = found[-1] if found else []
        fits = 0 < len(last) < config.turns_per_call and length <= room and last[0].thread_id == turn.thread_id
        if fits:
            last.append(turn)
        else:
            found.append([turn])
            room = config.user_max_tokens
        room -= length
    return found


def combine(
    services: Services, scope: Scope, turns: Sequence[MemoryRecord], thread: Sequence[MemoryRecord], draft: Draft
) -> Steps[dict[str, Drawn]]:
    """The facts of some turns of one thread, by their ids; what the answer proposes beside them goes into the draft.

    Args:
        services: the settings and the model.
        scope: whose memory.
        turns: the turns that are read now.
        thread: all turns of their thread that are worked off in this run; empty where others of them follow.
        draft: takes the proposals and the summary.
    """
    own = scope.model_copy(update={"thread_id": turns[0].thread_id})
    shown = yield from _find_shown(services, scope, turns)
    due = (yield from find_due(services, own, thread)) if thread else None
    if not shown and due is None and len(turns) == 1:
        return (yield from _alone(turns[0], services, draft))
    try:
        answer = yield _question(services.config, turns, shown, due)
    except ModelAnswerError as error:
        if len(turns) > 1:
            raise  # one turn alone may be easier to read
        reason = f"the model failed: {type(error).__name__}: {error}"
        draft.proposals.update({turn.id: Proposal(failure=reason) for turn in turns})
        warning = f"extraction fell back to rules: {error}"
        return {turn.id: Drawn(facts_by_rules(turn, services.config), [warning], fell_back=True) for turn in turns}
    except Exception as error:
        if len(turns) > 1 or not is_too_long(error):
            raise
        return (yield from _alone(turns[0], services, draft))
    found = read_answer(turns, shown, answer, services.config)
    draft.proposals.update({turn: proposal for turn, (_, proposal) in found.items()})
    if due is not None and own.thread_id is not None and isinstance(answer, FactsAndSummary) and answer.summary:
        read = {turn.id: turn.text for turn in due.turns}
        summary = SummaryDraft(Summary(points=answer.summary), tuple(read_points(due.old)), read)
        draft.summaries[own.thread_id] = summary
    return {turn: drawn for turn, (drawn, _) in found.items()}


def _alone(turn: MemoryRecord, services: Services, draft: Draft) -> Steps[dict[str, Drawn]]:
    """The shorter question for the facts alone; what they do to memories that weren't shown is decided by rules."""
    drawn = yield from draw_facts(turn, services)
    draft.proposals[turn.id] = Proposal()
    return {turn.id: drawn}


def _find_shown(services: Services, scope: Scope, turns: Sequence[MemoryRecord]) -> Steps[list[MemoryRecord]]:
    """The known records that are most like what the turns say, those of every turn."""
    config = services.config
    if not config.neighbourhood:
        return []
    found: dict[str, MemoryRecord] = {}
    for turn in turns:
        said = [make_fact(turn, 0, own_words(turn.text), "fact", tags=[])]
        said += [
            fact.model_copy(update={"ordinal": place}) for place, fact in enumerate(facts_by_rules(turn, config), 1)
        ]
        near = yield from find_neighbours(scope.namespace, said, services)
        found.update({record.id: record for record in _in_turns([near.get(fact.key, []) for fact in said], config)})
    return list(found.values())


def _in_turns(lists: Sequence[Sequence[MemoryRecord]], config: MemoryConfig) -> list[MemoryRecord]:
    """The first of each list, then the second of each, until there are as many as the settings allow."""
    merged: dict[str, MemoryRecord] = {}
    for place in range(max(map(len, lists), default=0)):
        for records in lists:
            if place < len(records) and len(merged) < config.neighbourhood:
                merged.setdefault(records[place].id, records[place])
    return list(merged.values())


def _question(
    config: MemoryConfig, turns: Sequence[MemoryRecord], shown: Sequence[MemoryRecord], due: Due | None
) -> Ask:
    clip = counter(config).clip
    said = [Said(clip(own_words(turn.text), config.user_max_tokens), name_of(turn), turn.said_at) for turn in turns]
    told = None
    if due is not None:
        told = Conversation(read_points(due.old), conversation(due.turns, config), config.summary_max_items)
    messages = render_combination(said, shown, max_facts=config.max_facts, conversation=told)
    return Ask(messages, FactsAndSummary if due else PlacedFacts)


def read_answer(
    turns: Sequence[MemoryRecord], shown: Sequence[MemoryRecord], answer: PlacedFacts, config: MemoryConfig
) -> dict[str, tuple[Drawn, Proposal]]:
    """An answer's facts that a turn supports, and what they propose, by the turn's id.

    A fact belongs to the turn that it names if that supports it, else to the first one that does; one that none
    supports is dropped.
    """
    reading = {turn.id: _Reading(turn, shown, config) for turn in turns}
    labels = {fact_label(place): turn.id for place, turn in enumerate(turns)}
    for item in answer.facts:
        named = labels.get((item.turn or "").strip().strip("().:'\"").upper(), turns[0].id)
        order = [reading[named], *(each for each in reading.values() if each.turn.id != named)]
        if item.event == "DELETE" and order[0].take_deletion(item):
            continue
        taker = next((each for each in order if each.supports(item)), None)
        if taker is not None:
            taker.take(item)
        elif item.event == "DELETE":
            order[0].changes.append(Proposed("DELETE", None, item.id))
        else:
            order[0].drawn.warnings.append(dropped_warning(" ".join(item.text.split())))
    return {turn: each.finish() for turn, each in reading.items()}


class _Reading:
    """What an answer says of one turn."""

    def __init__(self, turn: MemoryRecord, shown: Sequence[MemoryRecord], config: MemoryConfig) -> None:
        self.turn = turn
        self.shown = list(shown)
        self.config = config
        self.drawn = Drawn()
        self.changes: list[Proposed] = []
        self.deletions: list[PlacedFact] = []

    def supports(self, item: PlacedFact) -> bool:
        """Whether the turn says what the item says."""
        text = " ".join(item.text.split())
        return bool(text) and is_supported(self.turn, text, self.config)

    def take(self, item: PlacedFact) -> None:
        """Take a fact that the turn supports, unless it is there already or there are enough."""
        facts, text = self.drawn.facts, " ".join(item.text.split())
        if text in [fact.text for fact in facts] or len(facts) >= self.config.max_facts:
            return
        plain = ExtractedFact(text=text, kind=item.kind, tags=item.tags, confidence=item.confidence)
        facts.append(fact_of(self.turn, len(facts), text, plain, self.config))
        self.changes.append(Proposed(item.event, facts[-1].key, item.id))

    def take_deletion(self, item: PlacedFact) -> bool:
        """Take what the turn asks to forget; False where it asks for nothing."""
        asks = bool(requests_of(self.turn, 0))
        if asks:
            self.deletions.append(item)
        return asks

    def finish(self) -> tuple[Drawn, Proposal]:
        """The facts and the requests to forget, in the order of the sentences, and what is proposed for both."""
        self.drawn.facts = with_requests(self.turn, self.drawn.facts)
        open_requests = [fact for fact in self.drawn.facts if is_request(fact)]
        for item in self.deletions:
            request = self._meant(item, open_requests)
            if request is not None:
                open_requests.remove(request)
            self.changes.append(Proposed("DELETE", request.key if request else None, item.id))
        return self.drawn, Proposal(self.shown, self.changes)

    def _meant(self, item: PlacedFact, requests: Sequence[Fact]) -> Fact | None:
        """The request that a deletion fulfils."""
        known = item.id is not None and 0 <= item.id < len(self.shown)
        record = self.shown[item.id] if known and item.id is not None else None
        near = (
            request for request in requests if record is not None and concerns(request.text, record, name_of(request))
        )
        return next(near, requests[0] if requests else None)
