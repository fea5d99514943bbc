"""Attacks: they may use everything, and nothing may depend on them."""
