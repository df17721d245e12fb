"""Measurements that anyone can run: what is remembered, what is found again."""
