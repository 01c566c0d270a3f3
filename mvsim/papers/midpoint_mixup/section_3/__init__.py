"""Section 3 of the paper, linear models on the data of Definition 3.1, and Proposition 4.4, where linear models fail. They need no runs."""
