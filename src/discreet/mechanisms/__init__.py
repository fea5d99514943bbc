"""Randomised answers on statistics; each asks its account before it draws. Holds no rows."""
