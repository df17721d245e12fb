"""What can go wrong, as one tree. Every message names the value and the remedy.

::

    LangMemPlusError
    ├── ConfigError(ValueError)            a knob is unknown, out of bounds, or names something that can't be built
    │   ├── MissingIdentityError           no user_id could be found, or a template field stayed empty
    │   ├── ForeignIdentityError           two users are named, as where who is signed in on a server names another
    │   ├── SettingsFileError              a file with settings isn't there, or can't be read
    │   ├── MissingStoreError              a graph or a tool runs and no store is in reach
    │   └── MissingExtraError(ImportError) the feature needs a package that isn't installed
    ├── InvalidValueError(ValueError)      a value can't be stored: not JSON, or a record that contradicts itself
    ├── ImportFileError(ValueError)        a file to import can't be read; says where
    ├── NotFoundError(LookupError)         no record with that id
    ├── PinnedError                        a tool that a model calls doesn't change what is pinned
    ├── ConflictError                      what a decision is about has changed, or others keep rewriting it
    ├── EmbeddingError                     the embedder answered with the wrong number or size of vectors
    ├── ModelCallError                     a language model gave no answer at all
    │   ├── ModelTimeoutError(TimeoutError)  … in time
    │   └── ModelRestingError              it isn't asked for a while, because it kept failing
    ├── ModelAnswerError                   a language model's answer can't be read, even tolerantly
    └── StoreError(OSError)                the files or the index can't be read or written
"""

from __future__ import annotations


class LangMemPlusError(Exception):
    """The root: catch it to catch everything that this package raises on purpose."""


class ConfigError(LangMemPlusError, ValueError):
    """A setting is unknown, out of its bounds, or names something that can't be built."""


class MissingIdentityError(ConfigError):
    """Nobody is named: memory without a ``user_id`` would be shared by everyone, so it is refused."""


class ForeignIdentityError(ConfigError):
    """Two users are named and only one can be meant: who is signed in on a LangGraph server and another one, the
    context and the configuration of a graph that is called within another, or whose decision waits in a thread and who
    resumes it; nothing was written.
    """


class SettingsFileError(ConfigError):
    """A file with settings isn't there, or isn't TOML; what is wrong with a setting in it is a `ConfigError`."""


class MissingStoreError(ConfigError):
    """No store was given, and neither the parent graph nor the platform provides one."""


class MissingExtraError(ConfigError, ImportError):
    """A feature needs a package that isn't installed; the message has the command that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs a package that isn't installed. Run: pip install 'langmem-plus[{extra}]'")
        self.feature = feature
        self.extra = extra


class InvalidValueError(LangMemPlusError, ValueError):
    """A value can't be stored as it is; nothing was written."""


class ImportFileError(LangMemPlusError, ValueError):
    """A file to import can't be read; the message names the file and the place in it."""


class NotFoundError(LangMemPlusError, LookupError):
    """There is no record with this id in this user's space."""


class PinnedError(LangMemPlusError):
    """The record is pinned, and a tool that a model calls was to change or delete it; nothing was written."""


class ConflictError(LangMemPlusError):
    """Others kept rewriting the records that were to be changed, or what the owner is to approve was answered
    otherwise, or is about a memory that has changed since; nothing was written, and what waited still waits.
    """


class EmbeddingError(LangMemPlusError):
    """The embedder gave the wrong number of vectors, or vectors of the wrong size; no vector was written."""


class ModelCallError(LangMemPlusError):
    """A language model gave no answer: it can't be reached, refused, or broke off; the message says which."""


class ModelTimeoutError(ModelCallError, TimeoutError):
    """A language model gave no answer in time."""

    def __init__(self, seconds: float, knob: str = "answer_seconds") -> None:
        super().__init__(
            f"the model gave no answer within {seconds:g} s: see whether it can be reached, or raise {knob}."
        )


class ModelRestingError(ModelCallError):
    """A language model isn't asked for a while, because it failed again and again; the message says how long."""


class ModelAnswerError(LangMemPlusError):
    """A language model's answer can't be read as what was asked for, even tolerantly."""


class StoreError(LangMemPlusError, OSError):
    """The files or the index can't be read or written; the message names the path and the remedy."""
