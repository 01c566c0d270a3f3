"""Calculations A.6 to A.10 and Propositions A.1 to A.5."""
