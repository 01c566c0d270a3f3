"""One folder for each paper: its statements, settings and panels. No paper imports another."""
