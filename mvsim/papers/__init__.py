"""Papers: what each states, with the settings and the figures of it. A new one is a folder and a line in `mvsim.papers.papers`."""
