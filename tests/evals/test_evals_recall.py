"""Questions with known evidence, asked of memories that are built as a program would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.evals import recall
from langmem_plus.evals.asking import (
    Answer,
    evidence_ranking,
    measures,
    newer_first,
    session_ranking,
    told_ids,
    warm_up,
)
from langmem_plus.evals.building import Moment, build, opened, without
from langmem_plus.evals.datasets import read_dataset
from langmem_plus.evals.probes import nonsense_questions, unrelated_questions
from langmem_plus.evals.questions import Question
from langmem_plus.evals.recall import Place, evaluate, workload
from langmem_plus.evals.setups import Setup, make_setups
from langmem_plus.providers.minilm import LocalEmbeddings, ModelFiles
from langmem_plus.records import MemoryHit, MemoryRecord

Write = Callable[..., Path]
CONFIG = MemoryConfig(embeddings="none")


@pytest.fixture(autouse=True)
def few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of questions without an answer is enough here."""
    monkeypatch.setattr(recall, "PROBED", 4)


def hit(id: str, *sources: str, thread: str = "t") -> MemoryHit:
    """A hit that shows some messages."""
    return MemoryHit(record=MemoryRecord(id=id, text="x", user_id="u", thread_id=thread, source_ids=[*sources]))


def test_each_evidence_is_found_once() -> None:
    """A fact counts as the message that it was drawn from; shown again, it is no evidence but itself."""
    hits = [hit("fact", "D1:1"), hit("turn", "D1:1"), hit("other", "D9:9"), hit("both", "D1:1", "D1:2")]
    assert evidence_ranking(hits, {"D1:1", "D1:2"}) == ["D1:1", "turn", "other", "D1:2"]


def test_hits_are_told_by_the_messages_that_they_show() -> None:
    """Evidence first, then what wasn't shown yet; what shows no message goes by its own id."""
    hits = [hit("fact", "record", "m1"), hit("both", "m1", "m2"), hit("other", "m3", "m2"), hit("summary", "gone")]
    assert told_ids(hits, {"m2"}, {"m1", "m2", "m3"}) == ["m1", "m2", "m2", "summary"]


def test_sessions_are_counted_by_their_first_hit() -> None:
    """Five different threads, however many hits each has; without turns as evidence, sessions alone count."""
    hits = [hit(f"{n}", thread=f"t{n // 3}") for n in range(20)]
    found = measures(Question("?", "k", sessions=frozenset({"t4", "t5"})), hits)
    assert found == {"session recall@5": 0.5, "session any@5": 1.0, "session all@5": 0.0}
    both = measures(Question("?", "k", frozenset({"m"}), frozenset({"t0"})), [hit("a", "m", thread="t0")])
    assert both["recall@1"] == both["ndcg@10"] == both["session all@5"] == 1.0


def test_a_fact_counts_for_each_conversation_that_told_it() -> None:
    """Once for one hit; a hit of sessions that nobody seeks counts for its own."""
    told = {"m1": "t1", "m2": "t2", "m3": "t3"}
    hits = [
        hit("fact", "m1", "m2", thread="t1"),
        hit("again", "m1", "m2", thread="t1"),
        hit("other", "m3", thread="t3"),
    ]
    assert session_ranking(hits, {"t2"}, told) == ["t2", "t1", "t3"]
    assert session_ranking(hits, {"t1", "t2"}, told) == ["t1", "t2", "t3"]
    assert measures(Question("?", "k", sessions=frozenset({"t2"})), hits, told)["session any@5"] == 1.0
    assert measures(Question("?", "k", sessions=frozenset({"t2"})), hits)["session any@5"] == 0.0


def test_the_first_version_that_is_found_decides() -> None:
    """Newer, older, or neither; a question about one statement isn't counted."""
    question = Question("?", "update", newer=frozenset({"new"}), older=frozenset({"old"}))
    assert newer_first(question, [hit("x"), hit("a", "new"), hit("b", "old")]) is True
    assert newer_first(question, [hit("b", "old"), hit("a", "new")]) is False
    assert newer_first(question, [hit("x")]) is None
    assert newer_first(Question("?", "other"), [hit("a", "new")]) is None


@pytest.mark.parametrize("form", ["locomo", "longmemeval", "beam", "pairs", "own"])
def test_recall_is_measured_end_to_end(tmp_path: Path, dataset_file: Write, form: str) -> None:
    """Every form: something is found, everything lies in its bounds, and all is plain JSON. Each answer tells what was
    asked, and shows messages by the ids that the file has.
    """
    dataset = read_dataset(dataset_file(form))
    samples = {sample.id: sample for sample in dataset.samples}
    setups, steps = make_setups(["default"], CONFIG), list[int]()
    place = Place(tmp_path / "stores", tmp_path / "vectors")
    result = evaluate(dataset, setups, place, step=steps.append)
    assert sum(steps) == workload(dataset, setups)
    assert json.loads(json.dumps(result)) == result
    assert [row["name"] for row in result["rows"]] == ["default", "bm25"]
    assert result["dataset"]["sha256"] == dataset.sha256
    for row in result["rows"]:
        assert row["measures"]["recall@5"]["mean"] > 0.5
        assert all(0 <= each["low"] <= each["mean"] <= each["high"] <= 1 for each in row["measures"].values())
        assert row["config"]["embeddings"] == "none"
        assert 0 <= row["abstention"]["nonsense"]["auroc"] <= 1
        for answer in (each for each in row["answers"] if not each["probe"]):
            sample = samples[answer["sample"]]
            assert (answer["question"], set(answer["evidence"])) in [(q.text, q.evidence) for q in sample.questions]
            assert sample.sessions.keys() >= set(answer["hits"])
            assert (answer["measures"].get("recall@10") == 1.0) <= set(answer["evidence"]).issubset(answer["hits"])
    first = result["rows"][0]
    assert {"retrieve", "rerank", "mmr", "inject", "recall", "again"} <= first["milliseconds"].keys()
    assert 0 < first["tokens"]["mean"] <= 1500
    assert first["against_bm25"]["p"] <= 1
    assert not list((tmp_path / "stores").glob("*/*/*"))  # nothing was to be kept


def test_every_row_is_asked_something_before_it_is_timed(
    tmp_path: Path, dataset_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each store, as of the first question's day; else the first row would be timed with the loading of models."""
    calls: list[str] = []

    def warmed(client: MemoryClient, setup: Setup) -> None:
        calls.append(f"{setup.name} {client._services.clock():%Y-%m-%d}")

    def asked(client: MemoryClient, setup: Setup, *more: Any) -> Answer:
        calls.append("ask")
        return Answer("update")

    monkeypatch.setattr(recall, "warm_up", warmed)
    monkeypatch.setattr(recall, "ask", asked)
    setups = make_setups(["default,words"], CONFIG)
    evaluate(read_dataset(dataset_file("own")), setups, Place(tmp_path / "s", tmp_path / "v"), probes=False)
    assert calls == [call for setup in setups for call in (f"{setup.name} 2024-04-01", "ask")]


@pytest.mark.parametrize(
    ("name", "reranker", "asked"),
    [("default", "builtin", ["explain"]), ("default", "openai:gpt-5-mini", ["store"]), ("bm25", "builtin", ["store"])],
)
def test_what_comes_first_costs_no_request_and_leaves_no_question_known(
    monkeypatch: pytest.MonkeyPatch, name: str, reranker: str, asked: list[str]
) -> None:
    """A chat model that reranks isn't asked; the local model has to read what another row asked before."""
    calls: list[str] = []
    store = SimpleNamespace(batch=lambda ops: calls.append("store") or [[]])
    client: Any = SimpleNamespace(store=store, explain=lambda text, **more: calls.append("explain"))
    local = LocalEmbeddings(ModelFiles(Path("none"), Path("none")))
    local._asked["Where do I live?"] = None  # type: ignore[assignment]
    monkeypatch.setattr("langmem_plus.evals.asking.find_local", lambda: (local, ""))
    (setup,) = (each for each in make_setups([], CONFIG.replace(reranker=reranker)) if each.name == name)
    warm_up(client, setup)
    assert calls == asked
    assert not local._asked


def test_stores_are_used_again(tmp_path: Path, dataset_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept store is asked without being built, and gives the same answers; half of one is built anew."""
    dataset, setups = read_dataset(dataset_file("locomo")), make_setups([], CONFIG)
    place = Place(tmp_path / "stores", tmp_path / "vectors", keep=True)
    first = evaluate(dataset, setups, place)
    (mark,) = (tmp_path / "stores").rglob("built.json")
    added: list[Any] = []
    monkeypatch.setattr("langmem_plus.client.MemoryClient.add", lambda self, *args, **more: added.append(args))
    again = evaluate(dataset, setups, place)
    assert not added
    assert again["rows"][0]["measures"] == first["rows"][0]["measures"]
    mark.unlink()
    evaluate(dataset, setups, place)
    assert added


def test_each_question_is_asked_as_of_its_own_day(tmp_path: Path, dataset_file: Write) -> None:
    """What was said is as old as it was then; the store and the client go by the same clock."""
    (sample,) = read_dataset(dataset_file("own")).samples
    (setup, _) = make_setups([], CONFIG.replace(recency_tau_days=31.0))
    build(sample, tmp_path / "store", setup)
    moment = Moment()
    moment.now = sample.questions[0].asked_at
    with opened(tmp_path / "store", setup.config, moment) as client:
        ages = {each.text: each.scores["recency"] for each in client.search("Where did I move?", user_id="somebody")}
        assert {each.created_at.year for each in client.list(user_id="somebody")} == {2024}
    assert ages["I moved to Nantes."] == pytest.approx(0.3679, abs=0.001)


def test_evidence_can_be_taken_away(tmp_path: Path, dataset_file: Write) -> None:
    """Its turn and the facts of it, in a copy; the store stays whole."""
    (sample,) = read_dataset(dataset_file("locomo")).samples
    (setup, _) = make_setups([], CONFIG)
    build(sample, tmp_path / "store", setup)
    without(tmp_path / "store", tmp_path / "copy", setup, {"D1:1"})
    for name, there in (("store", True), ("copy", False)):
        with opened(tmp_path / name, setup.config, Moment()) as client:
            found = [each.text for each in client.list(user_id="somebody")]
            assert any("turtle" in text for text in found) == there
            assert any("Oslo" in text for text in found)


def test_a_kept_store_is_its_samples_own(tmp_path: Path, dataset_file: Write) -> None:
    """Also for a run that asks fewer questions, of which another may be the first."""
    path, setups = dataset_file("longmemeval"), make_setups([], CONFIG)
    place = Place(tmp_path / "stores", tmp_path / "vectors", keep=True)
    for limit in (1, None):
        result = evaluate(read_dataset(path, limit=limit), setups, place, probes=False)
    assert result["rows"][0]["measures"]["recall@10"]["mean"] == 1.0
    marks = [json.loads(mark.read_text(encoding="utf-8"))["sample"] for mark in place.stores.rglob("built.json")]
    assert sorted(marks) == ["q1", "q2", "q3_abs"]


def test_stores_can_be_built_by_several_processes(tmp_path: Path, dataset_file: Write) -> None:
    """With the same answers; what is there already isn't built again."""
    dataset, setups, steps = read_dataset(dataset_file("longmemeval")), make_setups([], CONFIG), list[int]()
    place = Place(tmp_path / "stores", tmp_path / "vectors", keep=True)
    several = evaluate(dataset, setups, place, probes=False, jobs=2, step=steps.append)
    assert sum(steps) == workload(dataset, setups, probes=False)
    alone = evaluate(dataset, setups, Place(tmp_path / "other", tmp_path / "vectors"), probes=False)
    assert several["rows"][0]["measures"] == alone["rows"][0]["measures"]


def test_without_probes_only_answerable_questions_are_asked(tmp_path: Path, dataset_file: Write) -> None:
    """Then nothing is told about abstention."""
    dataset, setups = read_dataset(dataset_file("locomo")), make_setups([], CONFIG)
    result = evaluate(dataset, setups, Place(tmp_path / "stores", tmp_path / "vectors"), probes=False)
    assert {answer["probe"] for answer in result["rows"][0]["answers"]} == {""}
    assert "nonsense" not in result["rows"][0]["abstention"]


def test_what_has_no_answer_is_the_same_for_everybody() -> None:
    """Fewer are the beginning of more; no two unrelated questions are alike."""
    assert nonsense_questions(5) == nonsense_questions(9)[:5]
    assert nonsense_questions(5) != nonsense_questions(5, seed=1)
    assert len(set(unrelated_questions())) == len(unrelated_questions()) >= 40
    assert all(text.endswith("?") and "{" not in text for text in (*nonsense_questions(50), *unrelated_questions()))
