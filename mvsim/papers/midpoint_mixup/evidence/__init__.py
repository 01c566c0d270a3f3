"""What statements about a run are measured on: the run with its data and snapshots, pairs of its points, since when something is so."""
