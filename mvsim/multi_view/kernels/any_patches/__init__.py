"""The compiled kernel for arbitrary patches."""
