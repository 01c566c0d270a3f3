"""``python -m mvsim`` is the ``mvsim`` command."""

from mvsim.cli import main

raise SystemExit(main())
