"""Strategies that make input of every kind for mvsim, right, nearly right and garbage, and the properties that hold whatever the input is.

``words`` (argument vectors), ``configs`` (TOML files), ``laws``, ``calls`` (the Python API), ``files`` (damaged runs) and ``problems`` (tiny
runs over the whole domain of `mvsim.Parameters`) make cases; a case is tried in an empty folder and answers with the properties that it breaks,
none if all is well. `fuzzing.kinds` lists them for the suite (``tests/validation/test_fuzz.py``).
"""
