"""First-person statements in the user's own words: what can be remembered of a turn without a language model.

Questions, requests of the moment, hypothetical cases, hedges and thanks are left out; what is kept is spelled as the
user spelled it. What the user asked to keep, and what the user asked to forget, is told apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from langmem_plus.prompts import FactKind
from langmem_plus.remember.alone import frames, may_undo, takes_back, tells_lately, tells_now, tells_own
from langmem_plus.remember.asked import (
    ASKED,
    ASKED_AFTER,
    ERASE_OWN,
    FORGET,
    FORGET_ALL,
    FORGET_IDIOM,
    FORGET_LAST,
    FORGET_TOO_MUCH,
    FORGET_VALUE,
    FROM_MEMORY,
    UNWANTED,
    UNWANTED_AFTER,
)
from langmem_plus.remember.cues import CUES
from langmem_plus.remember.data_names import find_datum
from langmem_plus.remember.fronted import left_out
from langmem_plus.remember.reported import without_jokes, without_reports
from langmem_plus.remember.sentences import (
    LONGEST_STATEMENT,
    clauses,
    ends_question,
    opens_question,
    own_words,
    sentences,
    strip_lead,
    with_subject,
)
from langmem_plus.remember.slots import find_slot
from langmem_plus.text import words

_SOME_MEMORY = re.compile(
    r"\b(?:delete|erase|remove|drop) (?:my|our) .*\bfrom (?:the memory|memory (?:cards?|sticks?))\b", re.IGNORECASE
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|could|might|maybe|perhaps|suppose|supposing|imagine|hypothetically|pretend|wish|as if|let['’]s say|"
    r"what if|wenn|würde|könnte|falls|angenommen|vielleicht|imaginons|peut-être|supongamos|quizás?|tal vez)\b|"
    r"(?:如果|假如|要是|也许|可能|假设)",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"(?:I|we)(?:['’](?:m|ve|re|ll|d)| am| have| will| would| was| just)* (?:(?:really|just|also|still|so|kinda|"
    r"kind of|a bit|"
    r"a little|pretty|very|currently|now|definitely|actually|been|having|feeling|quite|even|already|honestly) )*"
    r"(?:not sure|unsure|not certain|wonder(?:ing)?|curious|confused|struggling|having(?! (?:a baby|twins))|stuck|"
    r"worried|concerned|"
    r"looking (?:for|to|at|into|forward)|think(?:ing)?(?: (?:I|about|of|it|that|we|you)\b)|considering|hoping|sorry|"
    r"glad|"
    r"happy|excited|open to|ready|getting(?! (?:married|divorced|engaged))|facing|running into|guess|wish|hope|"
    r"assume|suppose|mean|see\b|understand|"
    r"appreciate|heard|noticed|agree with you|need (?:help|to (?:know|make sure|ensure|understand)|some|your|a "
    r"(?:good|way))|"
    r"want (?:to (?:make sure|know|see|ensure|understand|ask|be sure|implement|add|create|use)|your|some|help)|"
    r"like to (?:know|see|ask|implement|add|understand|create|get)|like your|love your|love to|like help|check|"
    r"try\b|take a look|look into|"
    r"keep (?:that|this|you)|make sure|definitely|have to|can['’]t (?:seem|figure|find|get|wait)|don['’]t (?:know|"
    r"understand|see|get|think|want to)|"
    r"trying to (?:decide|understand|figure|find|implement|set up|debug|create|make|build|optimi[sz]e|fix|plan|"
    r"integrate|use))",
    re.IGNORECASE,
)
_CHIT_CHAT = re.compile(
    r"(?:thanks|thank you|thx|got it|sounds? (?:good|great)|that (?:sounds|makes|was|is|'s)|great\b|perfect|awesome|"
    r"cool|"
    r"ok(?:ay)?\b|sure\b|you['’]re|yes\b|no problem|danke|merci|gracias|谢谢|好的)",
    re.IGNORECASE,
)
_UNRESOLVED = re.compile(
    r"(?:it|this|that|these|those|they|he|she|him|her|them|er|sie|es|das|il|elle|ça|ils|él|ella|eso)\b|[他她它这那]",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(
    r"(?:I|we)(?:['’]\w+)? (?:[\w'’-]+ ){0,3}?(?:(?:it|them|these|those|both)\b|(?:this|that)$|"
    r"(?:prefer|like|love|hate|enjoy|use|own|avoid|want|bought|chose) (?:this|that)\b(?! \w+ (?:is|are|was)))",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:[A-Z][\w'’-]+|my [\w-]+(?: [A-Z][\w'’-]+)?),? who (?:\w+ )?"
    r"(?:prefers|likes|loves|hates|dislikes|enjoys|avoids|is allergic to|lives|works|can['’]t stand) [^,.;:?!]+"
)
_AND_THAT = re.compile(r",? and (?:that )?(?=(?:I|my|we|our)\b)")
POLITE_END = re.compile(
    r",? (?:please|thanks|thank you|(?:wieder )?bitte|danke|s['’]il (?:te|vous) pla[iî]t|stp|svp|merci|por favor|"
    r"gracias)\s?[.!?]*$|(?:[吧吗][，,]?(?:谢谢|好吗)?|[，,](?:谢谢|好吗))[。.!！?？]*$",
    re.IGNORECASE,
)
_NOT_AT_END = re.compile(r"\b(?:nicht|nie|niemals)\W*$", re.IGNORECASE)  # "vergiss meine Nummer nicht"
_VERB_ALONE = re.compile(
    r"(?:soy|estudio|tengo|estoy) (?!yo\b|el\b|la\b|hambre|sed|sueño|prisa|list)\w+\W*$", re.IGNORECASE
)
_REQUESTS = (FORGET_ALL, FORGET_LAST, FORGET_TOO_MUCH, FORGET_VALUE, ERASE_OWN)
_QUOTED = re.compile(r"\s*[\"“„«「『]")  # what somebody says, or a title
_SHORTEST = 3  # words of a statement, or pairs of Chinese characters


@dataclass(frozen=True)
class Statement:
    """A clause worth remembering: its text as the user wrote it, its kind, and whether the user asked to keep it."""

    text: str
    kind: FactKind
    weight: int
    asked: bool = False


def find_statements(text: str, limit: int) -> list[Statement]:
    """The statements of a turn, at most ``limit``: the weightiest, in the order in which they were said."""
    found: dict[str, Statement] = {}
    said = _wanted(without_jokes(sentences(without_reports(own_words(text)))))
    for place, sentence in enumerate(said):
        for statement in _of_sentence(sentence):
            told = _with_its_end(statement, said, place)
            found.setdefault(told.text, told)
    ranked = sorted(found.values(), key=lambda item: (not item.asked, -item.weight))[:limit]
    return [item for item in found.values() if item in ranked]


def _with_its_end(statement: Statement, said: list[str], place: int) -> Statement:
    """The statement of a new home or employer with the sentence that may tell that it is over ("I came back to Leeds a
    year later."): together they tell no change.
    """
    if not _tells_change(statement.text):
        return statement
    told_lately = tells_lately(statement.text)  # then what was said before it is over: "I moved. I live in York now."
    others = [
        other
        for other, sentence in enumerate(said)
        if (other > place or (other < place and not told_lately))
        and may_undo(sentence, statement.text)
        and not _tells_change(sentence)
    ]
    if not others:
        return statement
    nearest = min(others, key=lambda other: (other < place, abs(other - place)))
    text = " ".join(said[each] for each in sorted((place, nearest)))
    return replace(statement, text=_trim(text))


def forget_requests(text: str) -> list[str]:
    """What the user asks to forget, in the user's words; "forget it" alone names nothing."""
    found: list[str] = []
    bare: set[str] = set()  # no statement, and of one word it may be
    for sentence in sentences(text):
        clause = strip_lead(sentence)
        if _QUOTED.match(sentence):
            continue
        if whole := FORGET_TOO_MUCH.match(clause) or FORGET_VALUE.match(clause):
            bare.add(_trim(whole[whole.lastgroup or 0]))
            found.append(_trim(whole[whole.lastgroup or 0]))
            continue
        if everything := FORGET_ALL.match(clause):
            found.append(_trim(everything["what"]))
            continue
        said = _to_forget(clause)
        if len(words(said)) and not FORGET_IDIOM.search(said):
            found += [_trim(part) for part in _AND_THAT.split(said)]
    return [request for request in found if len(words(request)) > 1 or request in bare]


def _to_forget(clause: str) -> str:
    """What a clause asks to forget; empty where it doesn't."""
    if match := FORGET_LAST.match(clause):
        return match["what"] or match["chinese"]
    if match := ERASE_OWN.match(clause):
        return match["what"]
    match = FORGET.match(clause)
    said = FROM_MEMORY.sub("", POLITE_END.sub("", clause[match.end() :])) if match else ""
    # "Delete my photos from the memory": of a camera, it may be.
    if _SOME_MEMORY.search(clause) and find_datum(said) is None:
        return ""
    return "" if _NOT_AT_END.search(said) else said


def wanted_sentences(text: str) -> list[str]:
    """The sentences of a turn without those that the user asks not to keep."""
    return _wanted(sentences(text))


def asks_not_to_keep(text: str) -> bool:
    """Whether the user asks in a turn that something isn't kept ("off the record: …")."""
    said = sentences(text)
    return len(_wanted(said)) < len(said)


def _wanted(said: list[str]) -> list[str]:
    """The sentences without those that the user asks not to keep.

    "Don't save this" alone means the sentence before, or the next one where none was before or a colon follows.
    """
    kept: list[str] = []
    skips_next = False
    for sentence in said:
        clause = strip_lead(sentence)
        alone = UNWANTED_AFTER.fullmatch(clause) is not None
        unwanted = alone or UNWANTED.match(clause) or UNWANTED_AFTER.search(clause)
        if not unwanted and not skips_next:
            kept.append(sentence)
        skips_next = bool(unwanted) and (clause.endswith((":", "：")) or (alone and not kept))
        if alone:
            kept = kept[:-1]
    return kept


def _of_sentence(sentence: str) -> list[Statement]:
    whole = strip_lead(sentence)
    if any(form.match(whole) for form in _REQUESTS):
        return []
    if (match := FORGET.match(whole)) and not FORGET_IDIOM.search(whole, match.end()):
        return []
    if asked := _asked(whole):
        return [asked]
    found: list[Statement] = []
    after_question = False
    pieces = _whole(clauses(sentence), sentence)
    for position, piece in enumerate(pieces):
        clause = strip_lead(piece)
        if position and piece is not clause:
            clause = with_subject(clause, pieces[:position])
        if opens_question(clause):
            after_question = True
            found += _relative(clause)
            continue
        if ends_question(clause) and not after_question and position == 0:
            continue
        if (cue := _cue(clause)) and (statement := _complete(clause, pieces[:position], sentence)):
            new = Statement(_trim(_uncut(statement, pieces, position, sentence)), cue[0], cue[1])
            found = [*(other for other in found if other.text not in new.text), new]
    return found or (_relative(sentence) if after_question else [])


def _asked(sentence: str) -> Statement | None:
    """What the user asks to keep, before or after naming it."""
    match = ASKED.match(sentence)
    if match:
        text = sentence[match.end() :]
    else:
        text = ASKED_AFTER.sub("", sentence)
        if text == sentence:
            return None
    if len(words(text)) < _SHORTEST - 1:
        return None
    cue = _cue(strip_lead(text))
    return Statement(_trim(text), cue[0] if cue else "fact", cue[1] if cue else 0, asked=True)


def _cue(clause: str) -> tuple[FactKind, int] | None:
    """The weightiest cue of a clause, or None if nothing announces a fact, or something speaks against it.

    An adverb in front changes nothing: "Now I live in Lyon", "Jetzt wohne ich in Hamburg".
    """
    plain = left_out(clause)
    return _plain_cue(plain) or (None if plain == clause else _plain_cue(clause))


def _plain_cue(clause: str) -> tuple[FactKind, int] | None:
    if len(clause) > LONGEST_STATEMENT or len(words(clause)) < _shortest(clause) or _CHIT_CHAT.match(clause):
        return None
    cues = [cue for cue in CUES if cue.pattern.match(clause)]
    if not cues:
        return None
    best = max(cues, key=lambda cue: cue.weight)
    if best.kind != "instruction" and (_HEDGE.match(clause) or _HYPOTHETICAL.search(clause)):
        return None
    return None if _UNRESOLVED.match(clause) else (best.kind, best.weight)


def _whole(pieces: list[str], sentence: str) -> list[str]:
    """The clauses, a statement of one's own in one piece with what may take it back: "I booked a table, but they
    cancelled it."
    """
    whole: list[str] = []
    start = end = 0
    for piece in pieces:
        begin = sentence.find(piece, end)
        if whole and _is_own(whole[-1]) and takes_back(whole[-1], piece):
            whole[-1] = sentence[start : begin + len(piece)]
        else:
            start = begin
            whole.append(piece)
        end = begin + len(piece)
    return whole


def _is_own(piece: str) -> bool:
    clause = strip_lead(piece)
    return not opens_question(clause) and (_cue(clause) is not None or tells_own(clause))


def _shortest(clause: str) -> int:
    """The fewest words of a statement: in Spanish the verb tells that "I" is meant."""
    return _SHORTEST - bool(_VERB_ALONE.match(clause))


def _complete(clause: str, before: list[str], sentence: str) -> str:
    """The clause, with the one before it where it says "it" of what that one names; empty where nothing does."""
    if not _REFERS_BACK.match(clause):
        return clause
    if not before:
        return ""
    start = sentence.find(before[-1])
    return strip_lead(sentence[start : sentence.find(clause, start) + len(clause)])


def _uncut(statement: str, pieces: list[str], position: int, sentence: str) -> str:
    """The statement with those pieces beside it that may change its truth, its time or its speaker."""
    before = next((place for place in range(position) if frames(pieces[place], pieces[position])), position)
    after = position
    if _tells_change(statement):
        first = position + 1 if tells_now(pieces[position]) else 0  # "I used to live in Rome, now I live in Bern"
        others = [place for place in range(first, len(pieces)) if place != position]
        said = [place for place in others if may_undo(pieces[place], statement)]
        before, after = min([before, *said]), max([after, *said])
    if (before, after) == (position, position):
        return statement
    start = sentence.find(pieces[before])
    return strip_lead(
        sentence[start : sentence.find(pieces[after], sentence.find(pieces[position], start)) + len(pieces[after])]
    )


def _tells_change(statement: str) -> bool:
    """Whether a statement tells a new home or employer, by which the known one may be retired."""
    slot = find_slot(statement)
    return slot is not None and slot.decides and slot.attribute in ("home", "employer")


def _relative(clause: str) -> list[Statement]:
    return [Statement(_trim(match[0]), "preference", 4) for match in _RELATIVE.finditer(clause)]


def _trim(text: str) -> str:
    return text.strip().rstrip("?？,，;:").strip()
