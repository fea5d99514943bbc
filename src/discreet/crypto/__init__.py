"""Primitives between parties, dangerous alone: ciphers, transfers, garbled circuits, shares."""
