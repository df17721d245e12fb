"""Documents of the workspace join the candidates of a recall, where the message asks for them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langmem_plus.errors import ConfigError
from langmem_plus.recall.items import Wanted
from langmem_plus.records import MemoryHit, MemoryReport
from langmem_plus.services import Services

logger = logging.getLogger(__name__)

Found = tuple[list[MemoryHit], MemoryReport]


def find_documents(services: Services, wanted: Wanted) -> Found:
    """The pieces of documents that a recall asks for: none where its plan asks for none.

    A folder or a vector store that fails doesn't take the memories with it: the report says so; with ``strict`` on it
    raises.
    """
    hits: list[MemoryHit] = []
    warnings: list[str] = []
    for documents in services.documents if _asks(wanted) else ():
        try:
            found, told = documents.find(wanted.scope, wanted.query, wanted.limit)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - _failed() tells, or raises
            warnings.append(_failed(services, error))
        else:
            hits += found
            warnings += told
    return _told(hits, warnings)


async def afind_documents(services: Services, wanted: Wanted) -> Found:
    """As `find_documents`."""
    hits: list[MemoryHit] = []
    warnings: list[str] = []
    for documents in services.documents if _asks(wanted) else ():
        try:
            found, told = await documents.afind(wanted.scope, wanted.query, wanted.limit)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            warnings.append(_failed(services, error))
        else:
            hits += found
            warnings += told
    return _told(hits, warnings)


def _asks(wanted: Wanted) -> bool:
    return "document" in wanted.roles and wanted.search


def _failed(services: Services, error: Exception) -> str:
    if services.config.strict:
        raise error
    logger.warning("memory: the documents weren't searched: %s", error, exc_info=error)
    return f"the documents weren't searched ({type(error).__name__}: {error})"


def _told(hits: Sequence[MemoryHit], warnings: list[str]) -> Found:
    counts = {"document_candidates": len(hits)} if hits else {}
    return list(hits), MemoryReport(counts=counts, warnings=warnings)
