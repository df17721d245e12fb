"""An OpenAI-compatible server on the loopback interface, built on the standard library alone.

It answers chats from a script and embeds by bags of words, over real HTTP: what a client library does on the wire
(streaming, tools, structured output, retries, time-outs) is exercised without a network and without a model.
"""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
from langmem_plus.testing.script import Script, answer_message
from langmem_plus.testing.wire import chat_chunks, chat_completion, embedding_list, model_list


@dataclass(frozen=True)
class ServerRequest:
    """One request as it came over the wire; ``headers`` by their names in small letters, ``body`` as JSON or None."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Failure:
    """An answer that is a failure.

    Args:
        status: the HTTP status.
        message: what the error says.
        headers: further headers, such as ``{"Retry-After": "1"}``.
        hang_up: close the connection instead of answering.
        answer: with ``hang_up``, in a stream: the answer whose first half is sent before the line goes dead.
        delay: seconds to wait first; the server's end cuts it short.
    """

    status: int = 500
    message: str = "this failure stands in the script"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_up: bool = False
    answer: Any = None
    delay: float = 0.0


class LoopbackServer:
    """Serves ``/v1/chat/completions``, ``/v1/embeddings`` and ``/v1/models`` while its context lasts.

    An answer is a text, an ``AIMessage``, a pydantic object, mapping or list (a structured answer: a tool call where
    the request has tools, else JSON), a `Failure`, or a callable that is given the request's body and returns one of
    these. When the script has ended, the answer is status 500 with the reason.

    Args:
        script: the answers to chats, in order.
        then: the answer to every chat after the last one.
        embeddings: embeds; its ``fail`` makes embedding requests fail.
        models: the names that ``/v1/models`` lists.

    Example:
        >>> with LoopbackServer(["Hello!"]) as server:
        ...     server.base_url.startswith("http://127.0.0.1:")
        True
    """

    def __init__(
        self,
        script: Sequence[Any] = (),
        *,
        then: Any = None,
        embeddings: BagOfWordsEmbeddings | None = None,
        models: Sequence[str] = ("scripted",),
    ) -> None:
        self.script = Script(script, then)
        self.embeddings = embeddings or BagOfWordsEmbeddings()
        self.models = list(models)
        self.requests: list[ServerRequest] = []
        self.closing = threading.Event()
        self.numbers = itertools.count(1)
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """The address that clients take as ``base_url``.

        Raises:
            RuntimeError: the server isn't running.
        """
        if self._http is None:
            raise RuntimeError("the server isn't running: use it as `with LoopbackServer(...) as server:`.")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests, in order."""
        return [request.body for request in self.requests if request.path == "/v1/chat/completions"]

    def __enter__(self) -> LoopbackServer:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        if self._http is not None and self._thread is not None:
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
        self._http = self._thread = None


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP; what is said is in `langmem_plus.testing.wire`."""

    protocol_version = "HTTP/1.1"
    owner: LoopbackServer

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is its own."""

    def do_GET(self) -> None:
        """List the models."""
        self._record(None)
        if self.path.rstrip("/") == "/v1/models":
            self._send(200, model_list(self.owner.models))
        else:
            self._fail(Failure(404, f"there is no {self.path}; this server has /v1/models."))

    def do_POST(self) -> None:
        """Chat or embed."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._record(body)
        routes: dict[str, Callable[[dict[str, Any]], None]] = {
            "/v1/chat/completions": self._chat,
            "/v1/embeddings": self._embed,
        }
        route = routes.get(self.path)
        if route is None:
            self._fail(Failure(404, f"there is no {self.path}; this server has {', '.join(routes)}."))
        elif not isinstance(body, dict):
            self._fail(Failure(400, "the request's body isn't a JSON object."))
        else:
            route(body)

    def _chat(self, body: dict[str, Any]) -> None:
        messages = body.get("messages") or []
        try:
            answer = self.owner.script.take(str(messages[-1].get("content")) if messages else "")
            answer = answer(body) if callable(answer) else answer
            if isinstance(answer, Failure):
                self._fail(answer, body)
                return
            message = answer_message(answer, body.get("tools") or [], body.get("tool_choice"))
        except Exception as error:  # noqa: BLE001 - whatever a script does wrong is told to the client, as a server would
            self._fail(Failure(500, f"{type(error).__name__}: {error}"))
            return
        number = next(self.owner.numbers)
        if body.get("stream"):
            self._stream(chat_chunks(message, body, number))
        else:
            self._send(200, chat_completion(message, body, number))

    def _embed(self, body: dict[str, Any]) -> None:
        texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            self._fail(Failure(400, "input must be a text or a list of texts, not token numbers."))
            return
        try:
            vectors = self.owner.embeddings.embed_documents(texts)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(Failure(500, f"{type(error).__name__}: {error}"))
            return
        self._send(200, embedding_list(vectors, body))

    def _record(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.requests.append(ServerRequest(self.command, self.path, headers, body))

    def _fail(self, failure: Failure, body: Mapping[str, Any] | None = None) -> None:
        self.owner.closing.wait(failure.delay)
        if not failure.hang_up:
            error = {"message": failure.message, "type": "scripted", "code": str(failure.status), "param": None}
            self._send(failure.status, {"error": error}, failure.headers)
            return
        if failure.answer is not None and body is not None:
            chunks = list(chat_chunks(answer_message(failure.answer), body, next(self.owner.numbers)))
            self._stream(iter(chunks[: len(chunks) // 2]), finish=False)
        self.close_connection = True
        with suppress(OSError):  # the client may be gone already, which is what a hang-up is about
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, payload: Any, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(payload).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(data), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        with suppress(OSError):  # a client with a time-out doesn't wait for the answer
            self.wfile.write(data)

    def _stream(self, events: Iterator[dict[str, Any]], finish: bool = True) -> None:
        """Server-sent events in chunked transfer; without ``finish`` the last chunk never comes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(OSError):  # the client may stop reading in the middle
            for event in events:
                self._chunk(f"data: {json.dumps(event)}\n\n".encode())
            if finish:
                self._chunk(b"data: [DONE]\n\n")
                self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _handler_for(server: LoopbackServer) -> type[_Handler]:
    return type("_BoundHandler", (_Handler,), {"owner": server})
