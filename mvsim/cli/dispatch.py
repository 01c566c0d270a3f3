"""Run the app; turn every expected failure into one line and an exit code."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from cyclopts import CycloptsError, UnknownOptionError, UnusedCliTokensError

from mvsim.base.echo import LONGEST, escaped, path_text, shortened
from mvsim.base.errors import DivergedError, Interrupted, MvsimError, StalledError
from mvsim.base.signals import on_deferred_signal
from mvsim.cli.app import app
from mvsim.cli.output import ResultsConsole, note, silence_stdout

DONE = 0
BAD_INPUT = 2
INCONCLUSIVE = 3
BUG = 70
INTERRUPTED = 130

HANDLED = (MvsimError, CycloptsError, OSError, MemoryError, ImportError, KeyboardInterrupt)
"""Everything that says by itself what is wrong; any other exception is a bug of mvsim."""

TRACEBACK = "MVSIM_TRACEBACK"
"""Name of the variable of the environment that asks for the traceback of a bug."""

_LONGEST_LINE = 600
"""Characters that a message of the option parser may have."""


def dispatch(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `mvsim.cli.main`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _make_streams_usable()
    stops = "interrupted; stops when the kernel that is being compiled is ready, half a minute at most"
    with _any_end_is_ctrl_c(), on_deferred_signal(lambda: note(stops)), warnings.catch_warnings():
        warnings.showwarning = _warnings_once()
        try:
            code = app(words, console=ResultsConsole())
            sys.stdout.flush()
        except BrokenPipeError:
            # Results are printed after everything is saved, so a reader that left (`| head`) has lost nothing but lines.
            silence_stdout()
        except (Exception, KeyboardInterrupt) as error:
            note(message(error, words))
            if isinstance(error, OSError):  # it may be stdout itself that cannot be written
                silence_stdout()
            if exit_code(error) == BUG and os.environ.get(TRACEBACK):
                traceback.print_exc()
            return exit_code(error)
        else:
            return code if isinstance(code, int) else DONE
    return DONE


def _make_streams_usable() -> None:
    """Let streams escape characters that their encoding lacks, and stand in for streams that were closed by the caller."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - lives as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _any_end_is_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that they save the state, too; one that the caller ignores, as ``nohup`` does, stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _warnings_once() -> Callable[..., None]:
    """Return what shows a warning as one line without its place in code, and the same words once."""
    said = set()

    def show(message: Warning | str, *details: object, **more: object) -> None:
        text = " ".join(str(message).partition("Traceback (most recent")[0].split())
        if text not in said:
            said.add(text)
            note(f"warning: {text}")

    return show


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(error, Interrupted | KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, DivergedError | StalledError):
        return INCONCLUSIVE
    return BAD_INPUT if isinstance(error, HANDLED) else BUG


def message(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the one line that explains an error."""
    if isinstance(error, Interrupted):
        return _one_line(f"{error}; resume with: {resuming_command(arguments)}")
    if isinstance(error, KeyboardInterrupt):
        return str(error) or "interrupted; runs that are saved stay, and the same command starts again with the rest"
    if isinstance(error, MemoryError):
        detail = f" ({shortened(str(error))})" if str(error) else ""
        return _one_line(f"not enough memory{detail}; make the problem smaller (k, m, N, G)")
    if isinstance(error, OSError) and not isinstance(error, MvsimError) and error.errno is not None:
        reason = error.strerror or str(error) or type(error).__name__
        advice = "; give a shorter name" if error.errno == errno.ENAMETOOLONG else ""
        return _one_line(f"{path_text(error.filename) if error.filename else 'standard output'}: {reason}{advice}")
    if isinstance(error, ImportError | OSError) and not isinstance(error, MvsimError):
        first = _innermost(error)
        library = f"{first.name}: " if isinstance(first, ImportError) and first.name else ""
        return _one_line(f"{library}a library cannot be loaded ({_name(first)}); raise the limits of this shell (ulimit -v), or install it again")
    if isinstance(error, CycloptsError):
        return _parser_message(error, arguments)
    if isinstance(error, MvsimError):
        return _one_line(_as_typed(str(error), arguments))
    return f"internal error ({_name(error)}), a bug of mvsim: please report it together with this command; {TRACEBACK}=1 shows where it happened"


def _as_typed(text: str, arguments: Sequence[str]) -> str:
    """Return a message about arguments with the names of options that were typed: --t-end in the place of t_end."""
    for word in arguments:
        option = word.partition("=")[0]
        if option.startswith("--") and "-" in option[2:]:
            text = text.replace(f"{option[2:].replace('-', '_')}=", f"{option}=")
    return text


def resuming_command(arguments: Sequence[str]) -> str:
    """Return the same command with ``--resume`` if it has that option, else it goes on by itself; without ``--force``, which would start again."""
    words = [word for word in arguments if word not in ("--force", "--resume")]
    command = app.parse_commands(words)[1][-1]
    resumes = any("--resume" in argument.names for argument in command.assemble_argument_collection())
    return shlex.join(["mvsim", *words, *(["--resume"] if resumes else [])])


def _parser_message(error: CycloptsError, arguments: Sequence[str]) -> str:
    """Return what the option parser says, with the words of the user made short and safe to print."""
    if isinstance(error, UnusedCliTokensError):
        return f"{shortened(shlex.join(error.unused_tokens or []))}: not expected here; the name of an option starts with --"
    token = getattr(error, "token", None)
    words = {*arguments, *(text for text in (getattr(token, "value", None), getattr(token, "keyword", None)) if text)}
    if isinstance(error, UnknownOptionError) and "--" in arguments and _word(error) in arguments[list(arguments).index("--") :]:
        return f"{shortened(_word(error))}: follows --, after which no option is read; remove the --"
    if isinstance(error, UnknownOptionError):
        names = [name for argument in error.argument_collection or () for name in argument.names]
        other = next((name for name in names if name.lower() == _word(error).lower()), None)
        if other is not None:
            return f"Unknown option: {shortened(_word(error))}. Did you mean {other}?"
    text = str(error)
    for word in sorted(words, key=len, reverse=True):
        if len(word) > LONGEST or not word.isprintable():
            text = text.replace(word, shortened(word))
    return shortened(" ".join(text.split()), _LONGEST_LINE)


def _innermost(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _word(error: UnknownOptionError) -> str:
    return error.token.keyword or error.token.value


def _name(error: BaseException) -> str:
    """Return the kind of an error and what it says; what it says may not be text, or not be there."""
    return shortened(" ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split()))


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))
