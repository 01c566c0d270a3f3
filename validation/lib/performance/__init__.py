"""What the study of performance times, and beside what."""
