"""What the study of the linear regime is made of: what it measures, and its pictures."""
