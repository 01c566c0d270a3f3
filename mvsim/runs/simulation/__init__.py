"""The one loop over time, from arguments to a run: draws the problem, steps it, records it, saves it."""
