"""A model that can't be is refused where it is named, and nothing heavy is loaded for that."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus.cli.options import check_model
from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.graph import create_memory_graph
from langmem_plus.providers import QuotingChatModel, known, make_chat_model
from langmem_plus.providers.known import PACKAGES, check_chat_model, find_provider


def test_the_providers_are_langchains() -> None:
    """Each provider's package is the one that init_chat_model imports."""
    module = importlib.import_module("langchain.chat_models.base")
    theirs = {name: entry[0].partition(".")[0] for name, entry in module._BUILTIN_PROVIDERS.items()}
    assert {name: PACKAGES.get(name) for name in theirs} == theirs


@pytest.mark.parametrize(
    "name", ["gpt-5", "o3-mini", "claude-x", "command-r", "gemini-3", "meta.llama", "mixtral-8", "grok-4", "sonar-pro"]
)
def test_names_tell_their_providers_as_in_langchain(name: str) -> None:
    """A name without a provider means what it means to init_chat_model."""
    infer = importlib.import_module("langchain.chat_models.base")._attempt_infer_model_provider
    assert find_provider(name) == infer(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("opnai:gpt-5-mini", "'opnai', which LangChain doesn't know; did you mean openai:gpt-5-mini"),
        ("openai/gpt-5", "did you mean openai:gpt-5"),
        ("nonesuch:x", "'nonesuch', which LangChain doesn't know. Write provider:model, .* Known are .*anthropic"),
        ("gpt5", "tells no provider: write provider:model"),
        ("nonsense", "tells no provider: write provider:model"),
        (":", "tells no provider: write provider:model"),
    ],
)
def test_a_provider_that_does_not_exist_is_refused(name: str, problem: str) -> None:
    """The error names the model, and what is wrong with it, at once, in the client, in the graph and in the shell."""
    for make in (
        lambda: check_chat_model(name),
        lambda: make_chat_model(name, MemoryConfig()),
        lambda: check_model(MemoryConfig(model=name)),
        lambda: MemoryClient(InMemoryStore(), model=name),
        lambda: create_memory_graph(QuotingChatModel(), store=InMemoryStore(), model=name),
    ):
        with pytest.raises(ConfigError, match=problem):
            make()


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(known, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install langchain-anthropic"):
        check_chat_model("anthropic:claude-sonnet-4-5")
    with pytest.raises(MissingExtraError, match=r"langmem-plus\[openai\]"):
        check_chat_model("gpt-5-mini")


def test_a_server_of_ones_own_takes_any_name() -> None:
    """A colon may belong to the name, as in qwen2.5:7b."""
    for name in ("qwen2.5:7b", "nonsense", "openai:nobody"):
        check_chat_model(name, "http://127.0.0.1:9/v1")


def test_no_sdk_is_loaded_and_no_key_is_needed() -> None:
    """A name is checked without LangChain's models or a provider's package."""
    code = (
        "import sys\nfrom langmem_plus.providers import make_chat_model\nmake_chat_model('openai:gpt-5-mini')\n"
        "assert not {'langchain_openai', 'langchain.chat_models', 'openai'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
