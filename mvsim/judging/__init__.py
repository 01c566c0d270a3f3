"""Verdicts, and the words for them."""
