"""The command line: a thin layer over `MemoryClient` and the memory graph.

Exit codes: 0 done; 1 nothing found; 2 wrong usage; 3 a setting, an identity or a package is missing or wrong; 4 a file
or the store can't be read or written; 5 a model or an embedder failed; 70 a mistake in this program.
"""

from langmem_plus.cli.process import main

__all__ = ["main"]
