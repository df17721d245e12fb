"""The error tree: what is drawn is what there is."""

from __future__ import annotations

import inspect
import re

import pytest

from langmem_plus import errors
from langmem_plus.errors import LangMemPlusError, MissingExtraError

CLASSES = {
    name: each for name, each in vars(errors).items() if inspect.isclass(each) and each.__module__ == errors.__name__
}


def drawn() -> dict[str, tuple[str, ...]]:
    """The bases of each class in the docstring's picture, the parent above it first."""
    tree: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^    ([│├└─ ]*)([A-Z]\w+)(?:\((\w+)\))?(?:\s|$)", line)
        if match is None:
            continue
        depth = len(match[1]) // 4
        del above[depth:]
        tree[match[2]] = tuple(base for base in (above[-1] if above else "Exception", match[3]) if base)
        above.append(match[2])
    return tree


def test_the_picture_is_the_tree() -> None:
    """The docstring's tree has every class, under its parent, with its other base in brackets."""
    real = {name: tuple(base.__name__ for base in each.__bases__) for name, each in CLASSES.items()}
    assert drawn() == real
    assert len(real) >= 10


@pytest.mark.parametrize("name", CLASSES)
def test_one_except_catches_everything(name: str) -> None:
    """Each error is a `LangMemPlusError` and says in a docstring when it is raised."""
    assert issubclass(CLASSES[name], LangMemPlusError)
    assert name == "LangMemPlusError" or name.endswith("Error")
    assert (CLASSES[name].__doc__ or "").strip().endswith(".")


def test_no_error_shadows_a_builtin_or_escapes_except_exception() -> None:
    """None is called like a builtin, and none slips past ``except Exception``."""
    import builtins

    assert not [name for name in CLASSES if hasattr(builtins, name)]
    assert all(issubclass(each, Exception) for each in CLASSES.values())


def test_errors_are_the_kinds_that_programs_expect() -> None:
    """Wrong settings and values are ValueErrors, a missing record a LookupError, lost files an OSError."""
    assert issubclass(errors.ConfigError, ValueError)
    assert issubclass(errors.InvalidValueError, ValueError)
    assert issubclass(errors.NotFoundError, LookupError)
    assert issubclass(errors.StoreError, OSError)
    assert issubclass(errors.MissingExtraError, ImportError)


def test_a_missing_extra_says_what_to_install() -> None:
    """The message has the feature and the command, the error both as fields."""
    error = MissingExtraError("reranking", "rerank")
    assert "reranking" in str(error)
    assert "pip install 'langmem-plus[rerank]'" in str(error)
    assert (error.feature, error.extra) == ("reranking", "rerank")


def test_a_store_error_keeps_its_message() -> None:
    """Although it is an OSError, one text is its message."""
    assert str(errors.StoreError("/x can't be written: free some space.")) == "/x can't be written: free some space."
