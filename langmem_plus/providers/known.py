"""Which provider a model's name means, and whether its package is here: told at once, without loading any of them."""

from __future__ import annotations

import difflib
import re
from importlib.util import find_spec

from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers.lazy import build_chat_model

# provider → the package that LangChain's init_chat_model imports for it
PACKAGES = {
    **dict.fromkeys(("openai", "azure_openai", "langsmith"), "langchain_openai"),
    **dict.fromkeys(("anthropic_bedrock", "bedrock", "bedrock_converse"), "langchain_aws"),
    **dict.fromkeys(("bedrock_mantle_anthropic", "bedrock_mantle_openai"), "langchain_aws"),
    **dict.fromkeys(("google_vertexai", "google_anthropic_vertex"), "langchain_google_vertexai"),
    "google_genai": "langchain_google_genai",
    "nvidia": "langchain_nvidia_ai_endpoints",
    **{
        name: f"langchain_{name}"
        for name in (
            *("anthropic", "azure_ai", "baseten", "cohere", "deepseek", "fireworks", "groq", "huggingface", "ibm"),
            *("litellm", "meta", "mistralai", "ollama", "openrouter", "perplexity", "together", "upstage", "xai"),
        )
    },
}
_EXAMPLES = "openai:gpt-5-mini, anthropic:claude-sonnet-4-5 or ollama:llama3."
# How names begin that tell their provider by themselves.
_BEGINNINGS = {
    **dict.fromkeys(("gpt-", "o1", "o3", "chatgpt", "text-davinci"), "openai"),
    "claude": "anthropic",
    "command": "cohere",
    "accounts/fireworks": "fireworks",
    "gemini": "google_vertexai",
    **dict.fromkeys(("amazon.", "anthropic.", "meta."), "bedrock"),
    **dict.fromkeys(("mistral", "mixtral"), "mistralai"),
    "deepseek": "deepseek",
    "grok": "xai",
    "sonar": "perplexity",
    "solar": "upstage",
}


def check_chat_model(spec: str, base_url: str | None = None) -> None:
    """Refuse a name that no model can be built from, however much time passes before its first use.

    Its key isn't looked for: it may come into the environment later.

    Raises:
        MissingExtraError: LangChain's package for OpenAI isn't installed.
        ConfigError: there is no such provider, or its package isn't installed.
    """
    provider = find_provider(spec, base_url)
    if provider is None:
        # None that is known here; a newer LangChain may know more.
        try:
            build_chat_model(spec, base_url)
        except ConfigError as error:
            raise ConfigError(f"model={spec!r} {_remedy(spec)}") from error
    elif find_spec(PACKAGES[provider]) is None:
        if PACKAGES[provider] == "langchain_openai":
            raise MissingExtraError(f"model={spec!r}", "openai")
        package = PACKAGES[provider].replace("_", "-")
        raise ConfigError(f"model={spec!r} needs a package that isn't installed. Run: pip install {package}")


def _remedy(spec: str) -> str:
    provider, mark, name = re.split(r"([:/]|$)", spec, maxsplit=1)
    if not (provider and mark and name):
        return "tells no provider: write provider:model, such as " + _EXAMPLES
    near = difflib.get_close_matches(provider.lower(), PACKAGES, 1)
    guess = f"; did you mean {near[0]}:{name}?" if near else "."
    return (
        f"names the provider {provider!r}, which LangChain doesn't know{guess} Write provider:model, such as "
        f"{_EXAMPLES} Known are {', '.join(sorted(PACKAGES))}."
    )


def find_provider(spec: str, base_url: str | None = None) -> str | None:
    """The provider that a name means; None where it can't be told.

    >>> find_provider("openai:gpt-5"), find_provider("claude-sonnet-4-5"), find_provider("opnai:gpt-5")
    ('openai', 'anthropic', None)
    """
    provider, colon, _ = spec.partition(":")
    if colon and provider in PACKAGES:
        return provider
    if base_url is not None:
        return "openai"  # a server of one's own, that speaks OpenAI's protocol
    begun = (name for start, name in _BEGINNINGS.items() if spec.lower().startswith(start))
    return next(begun, None)
