"""Benchmarks as commands: ``python -m langmem_plus.evals.bench store``. They print a table and can write JSON."""
