"""The contract of a LangGraph store, as tests that any backend can run.

Subclass `StoreContract`, say how a store is made, and run pytest::

    from langmem_plus.testing.contract import StoreContract

    class TestMyStore(StoreContract):
        def make_store(self, index=None):
            return MyStore(index=index)

A store on disk takes a fixture to its place::

    class TestMyFileStore(StoreContract):
        @pytest.fixture(autouse=True)
        def folder(self, tmp_path):
            self.path, self.number = tmp_path, itertools.count()

        def make_store(self, index=None):
            return MyFileStore(self.path / str(next(self.number)), index=index)

What a backend is known not to do stands in ``known_failures`` (a test's name and the reason), and is expected to fail
until it is taken out. Each test's name begins with the number of its point, and its docstring says the behaviour:

====== ===================================================================== ==================
 1–7   reading, JSON, replacing, times, deleting                             `Values`
 8     the same key in other namespaces                                      `Namespaces`
 9–13  keys, isolation, what can't be stored                                 `Values`
14–17  bad namespaces, literal labels, prefixes                              `Namespaces`
18–20  listings                                                              `Listing`
21–27  filters                                                               `Filters`
28–31  ranking                                                               `Ranking`
32–34  what is embedded                                                      `Indexing`
35–36  many vectors, pages of a query                                        `Ranking`
37–39  updates, equal texts, faults of the embedder                          `Indexing`
40     batches                                                               `Batches`
41–42  lists of namespaces                                                   `Namespaces`
43     time to live                                                          `Expiry`
44     async, event loops, threads, after errors                             `Concurrency`
45     inside of a graph                                                     `Graphs`
====== ===================================================================== ==================

A store that supports time to live says besides how one with such settings is made, and, where its clock can be set, how
time passes::

        def make_store_with_ttl(self, ttl):
            return MyStore(ttl=ttl)

Nearly every test runs twice: through the sync methods and through their
async twins, each call then in an event loop of its own.

Source: the docstrings of ``langgraph.store.base``, and where they are silent, what its PostgreSQL store does.
"""

from langmem_plus.testing.contract.base import ContractBase, Opener, ThroughAsync
from langmem_plus.testing.contract.batches import Batches
from langmem_plus.testing.contract.concurrency import Concurrency
from langmem_plus.testing.contract.expiry import Expiry
from langmem_plus.testing.contract.filters import Filters
from langmem_plus.testing.contract.graphs import Graphs
from langmem_plus.testing.contract.indexing import Indexing
from langmem_plus.testing.contract.listing import Listing
from langmem_plus.testing.contract.namespaces import Namespaces
from langmem_plus.testing.contract.ranking import Ranking
from langmem_plus.testing.contract.table import points_table
from langmem_plus.testing.contract.values import Values


class StoreContract(Values, Namespaces, Listing, Filters, Ranking, Indexing, Batches, Expiry, Concurrency, Graphs):
    """All points. A subclass whose name begins with ``Test`` gives `make_store`, and pytest collects it."""


__all__ = [
    "Batches",
    "Concurrency",
    "ContractBase",
    "Expiry",
    "Filters",
    "Graphs",
    "Indexing",
    "Listing",
    "Namespaces",
    "Opener",
    "Ranking",
    "StoreContract",
    "ThroughAsync",
    "Values",
    "points_table",
]
