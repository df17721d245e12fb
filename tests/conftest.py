"""What all tests share: settings of this machine don't reach them, and generated examples have no deadline."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("langmem_plus", deadline=None, print_blob=True)  # two busy cores: time says nothing
settings.load_profile("langmem_plus")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sees the defaults, whatever stands in the environment of who runs it."""
    for name in os.environ:
        if name.upper().startswith("LANGMEM_PLUS_"):
            monkeypatch.delenv(name)
