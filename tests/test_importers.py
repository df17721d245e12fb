import datetime as dt
import json

import pytest

from langmem_plus.errors import ImportFileError
from langmem_plus.importers import Conversation, read_messages

MESSAGES = [
    {
        "role": "user",
        "content": "My wife is Anne",
        "id": "m1",
        "name": "bob",
        "created_at": "2023-05-08T13:56:00+02:00",
    },
    {"role": "assistant", "content": "Noted."},
]
EXPECTED = [
    {
        "role": "user",
        "content": "My wife is Anne",
        "name": "bob",
        "id": "m1",
        "created_at": dt.datetime(2023, 5, 8, 11, 56, tzinfo=dt.UTC),
    },
    {
        "role": "assistant",
        "content": "Noted.",
        "name": None,
        "id": None,
        "created_at": dt.datetime(2023, 5, 8, 11, 56, tzinfo=dt.UTC),
    },
]
SAMPLE = {
    "sample_id": "conv-26",
    "conversation": {
        "speaker_a": "Caroline",
        "speaker_b": "Melanie",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel!"},
            {"speaker": "Melanie", "dia_id": "D1:2", "text": "Look.", "blip_caption": "a photo of a dog"},
        ],
        "session_10_date_time": "12:05 am on 1 January, 2024",
        "session_10": [{"speaker": "Caroline", "dia_id": "D10:1", "text": "", "blip_caption": "a lake"}],
        "session_2_date_time": "12:30 pm on 9 June, 2023",
        "session_2": [{"speaker": "Melanie", "dia_id": "D2:1", "text": "Hi"}],
        "session_11_date_time": "8:00 pm on 2 January, 2024",
    },
    "qa": [],
}


@pytest.fixture
def read(tmp_path):
    """Write a file and read its conversations."""

    def write_and_read(content, name="chat.json") -> list[Conversation]:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return list(read_messages(path))

    return write_and_read


def lines(*items) -> str:
    """JSON lines."""
    return "\n".join(json.dumps(item) for item in items) + "\n"


def test_one_list_of_messages_is_one_thread(read):
    """A list of messages is a thread named after the file; id, name and time are kept, in UTC."""
    assert read(MESSAGES) == [Conversation("chat", EXPECTED)]


@pytest.mark.parametrize("key", ["thread_id", "conversation_id", "id"])
def test_an_object_with_messages(read, key):
    """A conversation object keeps its own id, whatever the field is called."""
    assert read({"messages": MESSAGES, key: "t7"}) == [Conversation("t7", EXPECTED)]
    assert read({"messages": MESSAGES}) == [Conversation("chat", EXPECTED)]


def test_a_list_of_conversations(read):
    """Several conversations in one file are numbered unless they have names."""
    found = read([{"messages": MESSAGES}, {"messages": MESSAGES, "id": 5}])
    assert [(c.thread_id, c.messages) for c in found] == [("chat/1", EXPECTED), ("5", EXPECTED)]


def test_json_lines_of_messages(read):
    """Each line a message: one thread, or one for each thread_id; empty lines are skipped."""
    assert read(lines(*MESSAGES) + "\n\n", "chat.jsonl") == [Conversation("chat", EXPECTED)]
    mixed = [{**MESSAGES[0], "thread_id": "a"}, {**MESSAGES[0], "thread_id": "b"}, {**MESSAGES[1], "thread_id": "a"}]
    assert read(lines(*mixed), "chat.jsonl") == [Conversation("a", EXPECTED), Conversation("b", EXPECTED[:1])]


def test_json_lines_of_conversations(read):
    """Each line a conversation, as fine-tuning files have it."""
    found = read(lines({"messages": MESSAGES}, {"messages": MESSAGES[:1], "thread_id": "x"}, MESSAGES), "chat.ndjson")
    assert [c.thread_id for c in found] == ["chat/1", "x", "chat/3"]
    assert [c.messages for c in found] == [EXPECTED, EXPECTED[:1], EXPECTED]


def test_json_lines_under_another_name(read):
    """JSON lines are recognised whatever the file is called."""
    assert read(lines(*MESSAGES), "chat.txt") == [Conversation("chat", EXPECTED)]


def test_line_separators_inside_a_text_do_not_break_lines(read):
    """U+2028 may stand unescaped inside a JSON text and isn't the end of a line."""
    line = json.dumps({"role": "user", "content": "a\u2028b"}, ensure_ascii=False)
    assert read(line + "\r\n" + line, "chat.jsonl")[0].messages[1]["content"] == "a\u2028b"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("北京\n🙂", "北京\n🙂"),
        ([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:…"}}], "Look:\n[image]"),
        ([{"type": "input_text", "text": "a"}, "b", {"type": "input_audio", "input_audio": {}}], "a\nb\n[audio]"),
    ],
)
def test_content_of_every_shape_becomes_text(read, content, text):
    """A missing content is empty, parts are joined, and media are named instead of copied."""
    assert read([{"role": "user", "content": content}])[0].messages[0]["content"] == text


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2023-05-08T13:56:00Z", dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC)),
        ("2023-05-08", dt.datetime(2023, 5, 8, tzinfo=dt.UTC)),
        ("2023-05-08 13:56", dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC)),
        (1683554160, dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC)),
        (1683554160000, dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC)),
        (1683554160.5, dt.datetime(2023, 5, 8, 13, 56, 0, 500_000, tzinfo=dt.UTC)),
    ],
)
@pytest.mark.parametrize("field", ["created_at", "timestamp"])
def test_times_as_programs_write_them(read, time, expected, field):
    """ISO 8601 with and without zone, a date alone, seconds and milliseconds since 1970 all become aware UTC."""
    assert read([{"role": "user", "content": "hi", field: time}])[0].messages[0]["created_at"] == expected


def test_roles_of_other_systems(read):
    """human and ai are read as user and assistant; system and tool messages are handed on."""
    found = read([{"role": role, "content": "x"} for role in ("human", "ai", "system", "tool", "developer")])
    assert [m["role"] for m in found[0].messages] == ["user", "assistant", "system", "tool", "developer"]


def test_locomo_sessions_are_threads(read):
    """One session is one thread, in the sessions' numeric order, and the sample's name tells the groups apart."""
    found = read([SAMPLE])
    assert [c.thread_id for c in found] == ["conv-26/session_1", "conv-26/session_2", "conv-26/session_10"]
    assert {c.sample_id for c in found} == {"conv-26"}


def test_locomo_turns(read):
    """Both people are users with their names, ids are kept, pictures are words, and the session's time is theirs."""
    first, _, last = read(SAMPLE)
    assert first.messages[0] == {
        "role": "user",
        "content": "Hey Mel!",
        "name": "Caroline",
        "id": "D1:1",
        "created_at": dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC),
    }
    assert first.messages[1]["content"] == "Look. [image: a photo of a dog]"
    assert first.messages[1]["name"] == "Melanie"
    assert last.messages[0]["content"] == "[image: a lake]"
    assert last.messages[0]["created_at"] == dt.datetime(2024, 1, 1, 0, 5, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("content", "name", "place"),
    [
        ('{"messages": [', "chat.json", "line 1, column 15: not JSON"),
        ("", "chat.json", "the file is empty"),
        ("[" * 100_000, "chat.json", "it is nested too deeply"),
        ("[" * 100_000, "chat.jsonl", "line 1: it is nested too deeply"),
        (f'[{{"role": "user", "id": {"1" * 5000}}}]', "chat.json", "thousands of digits"),
        (
            f'[{{"role": "user", "created_at": {"1" * 400}}}]',
            "chat.json",
            "[0].created_at: a number of 1326 bits isn't",
        ),
        ('[{"role": "user", "created_at": NaN}]', "chat.json", "[0].created_at: nan isn't a time"),
        ('[{"role": "user", "created_at": 1e999}]', "chat.json", "[0].created_at: inf isn't a time"),
        (
            '[{"role": "user", "created_at": "9999-12-31T23:59:59-23:00"}]',
            "chat.json",
            "outside of the years 1 to 9999",
        ),
        ([{"role": "user", "name": {"a": [1]}}], "chat.json", "[0].name: expected a text or a number, found {'a'"),
        ([{"role": "user", "id": True}], "chat.json", "[0].id: expected a text or a number, found True"),
        ([{"role": "user", "text": "tea"}], "chat.json", 'a message\'s words stand in "content"'),
        ([{"role": ["user"]}], "chat.json", "[0].role: ['user'] isn't one of"),
        ([{"role": "user", "content": [{"type": "text", "text": 5}]}], "chat.json", "[0].content[0].text: expected a"),
        ({"conversation": {f"session_{'9' * 5000}": []}}, "chat.json", "there is no session_1"),
        ({"sample_id": {"x": 1}, "conversation": {"session_1": []}}, "chat.json", "sample_id: expected a text"),
        ('{"role": "user", "content": "hi"}\n{"role": ', "chat.jsonl", "line 2: column 10: not JSON"),
        ('{"role": "user", "content": "hi"}\n{"role": ', "chat.json", "line 2: column 10: not JSON"),
        ([{"role": "user", "content": "hi"}, {"content": "x"}], "chat.json", "[1].role: None isn't one of user"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "chat.json", "messages[0].role: 'nobody' isn't"),
        ([{"role": "user", "content": 3}], "chat.json", "[0].content: expected a text"),
        ([{"role": "user", "content": [3]}], "chat.json", "[0].content[0]: expected a part"),
        ([{"role": "user", "content": "x", "created_at": "soon"}], "chat.json", "[0].created_at: 'soon' isn't a time"),
        ([{"role": "user", "content": "x", "timestamp": 1e300}], "chat.json", "[0].timestamp: 1e+300 isn't a time"),
        (["hello"], "chat.json", "[0]: expected a message"),
        ("7", "chat.json", "expected a list of messages"),
        ({"a": 1}, "chat.json", "expected a list of messages"),
        ({"messages": [], "thread_id": {}}, "chat.json", "the thread's id is {}"),
        ({"conversation": {"speaker_a": "x"}}, "chat.json", "conversation: there is no session_1"),
        ([{"conversation": {"session_1": "x"}}], "chat.json", "[0].conversation.session_1: expected a list of turns"),
        ({"conversation": {"session_1": [{}]}}, "chat.json", "conversation.session_1[0]: expected a turn"),
        (
            {"conversation": {"session_1": [], "session_1_date_time": "1:00 pm on 31 June, 2023"}},
            "chat.json",
            "conversation.session_1_date_time: '1:00 pm on 31 June, 2023' isn't a time",
        ),
        (b"\xff\xfe", "chat.json", "byte 0 isn't UTF-8"),
    ],
)
def test_a_broken_file_is_named_with_the_place(read, content, name, place):
    """What can't be read is an error that names the file and the place in it."""
    with pytest.raises(ImportFileError) as caught:
        read(content, name)
    assert name in str(caught.value)
    assert place in str(caught.value)


def test_a_missing_file(tmp_path):
    """A file that isn't there is the same kind of error."""
    with pytest.raises(ImportFileError, match=r"nowhere\.json: can't be read"):
        list(read_messages(tmp_path / "nowhere.json"))


def test_a_byte_order_mark_is_no_obstacle(read):
    """Files that Windows programs saved are read as well."""
    assert read(b"\xef\xbb\xbf" + json.dumps(MESSAGES).encode()) == [Conversation("chat", EXPECTED)]


def test_an_empty_list_has_no_conversations(read):
    """Nothing to import isn't an error."""
    assert read([]) == []


@pytest.mark.parametrize("content", [None, [], [{"type": "text", "text": None}], [{"type": "text"}]])
def test_what_is_missing_has_no_words(read, content):
    """A null where a text would stand is nothing that was said, and never the word None."""
    (conversation,) = read([{"role": "user", "content": content}], "chat.json")
    assert conversation.messages[0]["content"] == ""


def test_a_folder_is_no_file(tmp_path):
    """A folder is named, like any file that can't be read."""
    with pytest.raises(ImportFileError, match="can't be read"):
        list(read_messages(tmp_path))


def test_a_message_without_a_time_was_said_beside_its_neighbours(read):
    """The one before it, or, at the beginning, the one after it; where none has a time, none is made up."""
    days = [None, "2024-03-01", None, "2024-03-02", None]
    (found,) = read([{"role": "user", "content": f"m{n}", "created_at": day} for n, day in enumerate(days)])
    assert [message["created_at"].day for message in found.messages] == [1, 1, 1, 2, 2]
    (undated,) = read([{"role": "user", "content": "m"}])
    assert undated.messages[0]["created_at"] is None


ENTRY = {
    "question_id": "q1",
    "haystack_session_ids": ["s1", "s2"],
    "haystack_dates": ["2023/04/10 (Mon) 17:50", "2023-04-11"],
    "haystack_sessions": [
        [{"role": "user", "content": "I bought a kayak."}, {"role": "assistant", "content": "Nice."}],
        [{"role": "user", "content": "Hello.", "has_answer": False}],
    ],
}
CHAT = {
    "id": "100K-1",
    "messages": [
        {"id": 0, "role": "user", "session": 1, "time": "March-15-2024", "kind": None, "text": "Hi"},
        {"id": 1, "role": "assistant", "session": 1, "time": None, "kind": None, "text": "Hello"},
        {"id": 2, "role": "user", "session": 2, "time": "April-05-2024", "kind": None, "text": "Back"},
    ],
}


def test_sessions_of_longmemeval_are_threads(read):
    """A message's id is its session's and its place; its time is its session's."""
    first, second = read([ENTRY])
    assert (first.thread_id, first.sample_id, second.thread_id) == ("s1", "q1", "s2")
    assert [message["id"] for message in first.messages] == ["s1:0", "s1:1"]
    assert first.messages[1]["created_at"] == dt.datetime(2023, 4, 10, 17, 50, tzinfo=dt.UTC)
    assert second.messages[0]["created_at"] == dt.datetime(2023, 4, 11, tzinfo=dt.UTC)


def test_sessions_of_beam_are_threads(read):
    """A message without a day was said on the day of the one before."""
    first, second = read([CHAT])
    assert (first.thread_id, second.thread_id, second.sample_id) == ("100K-1/session-1", "100K-1/session-2", "100K-1")
    assert [message["id"] for message in first.messages] == ["0", "1"]
    assert {message["created_at"] for message in first.messages} == {dt.datetime(2024, 3, 15, tzinfo=dt.UTC)}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({**ENTRY, "haystack_dates": []}, "2 sessions have 0 dates"),
        ({**ENTRY, "haystack_dates": ["2023/13/10 (Mon) 17:50", "x"]}, "isn't a time"),
        ({**ENTRY, "haystack_sessions": [[{"role": "user"}], []]}, "expected a text"),
        ({**ENTRY, "haystack_session_ids": None}, "expected haystack_sessions, haystack_dates"),
        ({"messages": [{"session": 1, "text": "x"}]}, "user or assistant"),
        ({"messages": [{"session": 1, "text": "x", "role": "user", "time": "Marz-40-2024"}]}, "isn't a time"),
        ({"messages": [{"session": 1, "text": "x", "role": "user", "time": "March-40-2024"}]}, "isn't a time"),
    ],
)
def test_what_is_wrong_in_a_data_set_is_named(read, data, problem):
    """The place and what was expected."""
    with pytest.raises(ImportFileError, match=problem):
        read([data])


def test_questions_among_json_lines_are_passed_over(read):
    """They are asked by `eval recall`; messages may belong to a sample each."""
    lines = [
        {"role": "user", "content": "a", "thread_id": "t", "sample_id": "one"},
        {"question": "What?", "evidence": ["x"]},
        {"role": "user", "content": "b", "thread_id": "t", "sample_id": "two"},
    ]
    found = read("\n".join(map(json.dumps, lines)), "chat.jsonl")
    assert [(each.sample_id, each.thread_id, each.messages[0]["content"]) for each in found] == [
        ("one", "t", "a"),
        ("two", "t", "b"),
    ]
