"""Theorems 4.6 and 4.7 on one run, Definition 4.5, and what is predicted beyond the end of a run."""
