"""One run: what is recorded, how it is saved, and how it is made."""
