"""Compiled functions that more than one kernel calls."""
