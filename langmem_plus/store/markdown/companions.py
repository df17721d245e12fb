"""What goes along with a store where its settings ask for it: the watcher of its files, and their history in git."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langmem_plus.config import MemoryConfig
from langmem_plus.store.markdown.files import Action, Namespace, Stamp
from langmem_plus.store.markdown.layout import Layout
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.markdown.rooms import Rooms
from langmem_plus.store.markdown.versioning import Versions
from langmem_plus.store.markdown.watching import Watcher


class Companions:
    """The watcher and the history of one store; each None where it isn't asked for.

    Args:
        layout: where things lie.
        config: the store's settings.
        rooms: the store's namespaces.
    """

    def __init__(self, layout: Layout, config: MemoryConfig, rooms: Rooms) -> None:
        self.watcher = Watcher(layout, rooms.look_again) if config.start_watcher else None
        self.versions = Versions(layout, config) if config.versioning else None

    def joining(self, opened: Callable[[OpenNamespace], None]) -> Callable[[OpenNamespace], None]:
        """What is to be called when a namespace's database opens: ``opened``, and what goes along."""

        def join(room: OpenNamespace) -> None:
            room.edited = self.edited
            if self.watcher is not None:
                self.watcher.start()
            if self.versions is not None:
                self.versions.begin()
            opened(room)

        return join

    def edited(self, namespace: Namespace) -> None:
        """Files of a namespace, or below a prefix of some, were changed otherwise than by `wrote`."""
        if self.versions is not None:
            self.versions.edited(namespace)

    def wrote(self, actions: Sequence[Action], stamps: Sequence[Stamp | None]) -> None:
        """The store wrote files."""
        if self.watcher is not None:
            self.watcher.wrote(actions, stamps)
        if self.versions is not None:
            self.versions.wrote(actions)

    def close(self) -> None:
        """End what goes along; the store's next use begins it again."""
        if self.watcher is not None:
            self.watcher.stop()
        if self.versions is not None:
            self.versions.close()
