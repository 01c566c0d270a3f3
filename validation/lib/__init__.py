"""What the studies share: the shape of a study, results and stamps on disk, the page of results, timing, problems, tables."""
