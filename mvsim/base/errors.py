"""The errors mvsim raises on purpose; each one has an exit code on the command line."""


class MvsimError(Exception):
    """Base of every error that mvsim raises on purpose."""


class UsageError(MvsimError, ValueError):
    """Bad usage or input (exit code 2).

    The message is one line: ``field=value: what is allowed; what to do``. Of several wrong fields it names
    the first few, joined by ``"; "``, and says how many more there are.
    """


class InUseError(UsageError):
    """Another process is working on the run; nothing is wrong with it."""


class DivergedError(MvsimError):
    """Non-finite values were met (exit code 3).

    The message names the step and the quantity; the last good state has been saved.
    """


class NotFiniteError(DivergedError, UsageError):
    """A value is NaN or infinite, or makes one: bad input where a caller gave it, divergence where a run came to it (exit code 3)."""


class StalledError(MvsimError):
    """A time-stepper got stuck (exit code 3).

    The message names the time, the step size and the correlation that changes most relative to its tolerance; the last good state has been saved.
    """


class Interrupted(MvsimError):  # noqa: N818 - an event that was handled, not a fault
    """Ctrl-C or SIGTERM was handled and the state saved (exit code 130)."""
