"""Points with a single patch: outputs are matrix products."""
