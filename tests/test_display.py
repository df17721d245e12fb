"""What a notebook shows of memories: everything, and nothing that acts."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus import MemoryClient, MemoryHit, MemoryRecord, MemoryReport
from langmem_plus.client import Explanation
from langmem_plus.client.listed import Hits, Records
from langmem_plus.display import ROWS, TEXT_LIMIT, attribute, bar, escaped, report_html
from langmem_plus.erasure import EraseReceipt
from langmem_plus.records import Choice

NOW = dt.datetime(2026, 5, 4, 9, tzinfo=dt.UTC)
TAGS = {
    *("bdi", "code", "details", "div", "em", "li", "pre", "small", "span", "strong", "summary"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}
NASTY = (
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)" x=\'',
    "' style='position:fixed",
    "</td></tr></table></bdi></div><img src=x onerror=alert(1)>",
    "<a href=javascript:alert(1)>x</a> &lt;b&gt; <!-- <style>*{display:none}</style>",
    "$\\href{javascript:alert(1)}{x}$ \\(x\\) \\begin{equation}",
    "\x00\x1b[31m\ud800 \u202eabc",
)


class Page(HTMLParser):
    """The tags and attributes of some HTML, the texts that it shows, and whether each tag is closed where it should."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.shown = ""
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag and what it says of itself."""
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that the tag that was opened last is closed."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note what is shown."""
        self.shown += data

    def handle_comment(self, data: str) -> None:
        """Refuse comments."""
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        """Refuse declarations."""
        raise AssertionError(f"a declaration: {decl}")


def record(text: str) -> MemoryRecord:
    """A record that says the text wherever a record can say something."""
    return MemoryRecord(
        id=text or "id",
        text=text,
        user_id="mia",
        space=text,
        thread_id=text,
        tags=[text],
        source_ids=[text],
        replaced_by=text,
        status="superseded",
        pinned=True,
        observed_at=NOW,
        created_at=NOW,
        updated_at=NOW,
        metadata={text: text},
    )


def hit(text: str) -> MemoryHit:
    """A hit whose record says the text."""
    return MemoryHit(record=record(text), scores={"total": 0.5, "relevance": float("nan"), text: 2.0})


def report(text: str) -> MemoryReport:
    """A report that says the text wherever a report can say something."""
    return MemoryReport(
        strategy="memory",
        reason=text,
        counts={text: 1, "candidates": 3, "chosen": 1},
        tokens={text: 5},
        milliseconds={text: 1.25},
        choices=[Choice(id=text, text=text, kept=kept, reason=text, scores={"total": 0.3}) for kept in (True, False)],
        decisions=[{text: text, "event": None, "fact": {"text": text}}],
        warnings=[text],
    )


def receipt(text: str) -> EraseReceipt:
    """A receipt that says the text wherever a receipt can say something."""
    return EraseReceipt(
        asked={text: text}, looked=[text], removed={text: 1}, rewritten={text: 1}, paths=[text], unreached=[text]
    )


SHOWN: dict[str, Callable[[str], Any]] = {
    "record": record,
    "records": lambda text: Records([record(text)]),
    "hit": hit,
    "hits": lambda text: Hits([hit(text)]),
    "choice": lambda text: report(text).choices[0],
    "report": report,
    "receipt": receipt,
    "explanation": lambda text: Explanation(text, [hit(text)], report(text)),
}


def check_harmless(html: str) -> Page:
    """Nothing in it acts, loads or reaches out, and a page can hold it."""
    html.encode("utf-8")
    page = Page(html)
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= {"style", "class", "title", "colspan"}
    assert not any(re.search(r"url|import|expression|position|@", v) for name, v in page.attributes if name == "style")
    assert "<script" not in html
    return page


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("text", NASTY)
def test_stored_text_does_nothing_in_a_notebook(make: Callable[[str], Any], text: str) -> None:
    """Tags, attributes, formulas and control characters that somebody stored are shown as what they are."""
    page = check_harmless(make(text)._repr_html_())
    start = re.split(r"[\x00-\x1f\ud800]", text)[0][:40]
    assert start in page.shown


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
@given(text=st.text(st.characters(), max_size=60))
def test_any_text_does_nothing_in_a_notebook(make: Callable[[str], Any], text: str) -> None:
    """So is every other text, of any characters at all."""
    check_harmless(make(text)._repr_html_())


@given(text=st.text(st.characters(), max_size=60))
def test_a_text_stays_within_its_attribute(text: str) -> None:
    """An attribute's text neither ends the attribute nor the tag."""
    page = Page(f'<span title="{attribute(text)}" class="last">x</span>')
    assert [name for name, _ in page.attributes] == ["title", "class"]


def test_a_formula_is_shown_as_it_was_written() -> None:
    """No two dollars stand in one element, so that a notebook finds nothing to typeset; the text is whole."""
    html = escaped("it costs $5, not $6; \\(x\\)")
    assert not re.search(r"\$[^<>]*\$|\\[(\[]", html)
    assert Page(html).shown == "it costs $5, not $6; \\(x\\)"


def test_long_texts_are_clipped() -> None:
    """A table stays a table, however long a memory is; a record that is shown alone has more room."""
    long = MemoryRecord(id="a", text="word " * 5000, user_id="mia")
    table, alone = Records([long])._repr_html_(), long._repr_html_()
    assert len(Page(table).shown) < TEXT_LIMIT + 100
    assert len(Page(table).shown) < len(Page(alone).shown) < 5000


def test_long_lists_are_cut_and_say_so() -> None:
    """Of thousands of memories a few are shown, with the number of the others."""
    html = Records([record(f"text {n}") for n in range(ROWS + 7)])._repr_html_()
    assert "… and 7 more" in html
    assert html.count("<tr") == ROWS + 2  # the headings, and the row that says it


def test_nothing_is_shown_as_nothing() -> None:
    """Empty lists, reports and receipts are shown, too."""
    assert "no memories" in Records()._repr_html_()
    assert "nothing was found" in Hits()._repr_html_()
    for empty in (MemoryReport(), EraseReceipt(), Explanation()):
        check_harmless(empty._repr_html_())


def test_a_report_shows_every_choice_with_its_reason() -> None:
    """The chosen come first, by their totals, then the others; each says why."""
    choices = [
        Choice(id="1", text="a bicycle", kept=False, reason="not near", scores={"total": 0.9}),
        Choice(id="2", text="a kayak", kept=True, reason="fits", scores={"total": 0.4}),
        Choice(id="3", text="a canoe", kept=True, reason="fits better", scores={"total": 0.8}),
    ]
    shown = Page(MemoryReport(strategy="memory", reason="default", choices=choices)._repr_html_()).shown
    places = [shown.index(text) for text in ("canoe", "kayak", "bicycle")]
    assert places == sorted(places)
    assert "not near" in shown
    assert "default" in shown


def test_a_report_as_plain_json_is_shown_too() -> None:
    """A graph's state holds the report as JSON, which the same function shows."""
    made = report("tea")
    assert report_html(made.model_dump(mode="json")) == made._repr_html_()


@pytest.mark.parametrize(("value", "width"), [(0.25, 25), (-3.0, 0), (7, 100)])
def test_bars_keep_to_their_bounds(value: float, width: int) -> None:
    """A number beyond the bounds is a bar of no or of full width, and says the number."""
    assert f"{width}%,transparent {width}%" in bar(value)
    assert f"{value:.2f}" in bar(value)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "0.5", [1]])
def test_what_is_no_number_is_no_bar(value: object) -> None:
    """A score that is missing or broken is a dash."""
    assert bar(value) == "–"


def test_colours_are_the_pages_own() -> None:
    """No opaque colour is set, so that tables can be read on light and on dark pages."""
    html = "".join(make("tea")._repr_html_() for make in SHOWN.values())
    assert not re.search(r"#[0-9a-f]{3}|rgb\(|white;|black", html)
    assert "color:inherit" in html


def test_what_the_client_gives_is_a_list_and_a_table(tmp_path: Path) -> None:
    """Lists of the client are lists as ever, and a notebook shows them, and slices of them, as tables."""
    with MemoryClient(tmp_path / "memory") as client:
        added = client.add("My sister is called Ines.", user_id="mia")
        client.flush()
        hits, records = client.search("What is my sister called?", user_id="mia"), client.list(user_id="mia")
        assert isinstance(hits, list)
        assert records[:1] == list(records)[:1]
        for found in (added, hits, records, hits[:1], client.explain("sister", user_id="mia")):
            assert "Ines" in found._repr_html_()  # type: ignore[attr-defined]
        assert client.erase(user_id="mia")._repr_html_().count("mia") >= 1


async def test_the_async_client_gives_tables_too(tmp_path: Path) -> None:
    """So do the async calls."""
    async with MemoryClient(tmp_path / "memory") as client:
        added = await client.aadd("My sister is called Ines.", user_id="mia")
        await client.aflush()
        hits = await client.asearch("What is my sister called?", user_id="mia")
        for found in (added, hits, await client.alist(user_id="mia")):
            assert "Ines" in found._repr_html_()  # type: ignore[attr-defined]
