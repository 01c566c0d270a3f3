"""Whether a run is what its file says: where it comes from, its records, its clock, where its saved states lead."""
