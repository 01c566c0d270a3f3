"""The commands of ``mvsim``; each is imported when it is called, not before."""

from __future__ import annotations

from cyclopts import App

from mvsim.cli.config import apply_config, refuse_empty_names
from mvsim.version import __version__

_ALWAYS = "2 bad usage or input; 70 a bug of mvsim (MVSIM_TRACEBACK=1 in the environment shows where); 130 interrupted."

app = App(
    name="mvsim",
    help="Simulate the training dynamics of ERM and Midpoint Mixup on multi-view data, exactly, in correlation coordinates.",
    help_epilogue="--help of each command tells its exit codes. MVSIM_TRACEBACK=1 in the environment shows the traceback of a bug of mvsim.",
    version=__version__,
    group_parameters="Options",
    config=(refuse_empty_names, apply_config),
    help_format="plaintext",
    print_error=False,
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)
app.register_install_completion_command(help="Let the shell complete commands and options with the tab key.")


def add(name: str, does: str, codes: str) -> None:
    """Add the command that stands under its own name in `mvsim.cli`, with what it does and the exit codes that it has besides those of all."""
    app.command(f"mvsim.cli.{name}:{name}", name=name, help=does, help_epilogue=f"Exit codes: {codes}; {_ALWAYS}")


add("simulate", "Train one network and keep its trajectory in a run file.", "0 done; 3 the run diverged or stalled (what was reached is saved)")
add("show", "Say what a run file holds: outcome, parameters, origin.", "0 done")
add("diff", "Say in what two runs differ, in what was asked for and in what came out.", "0 they do not differ; 1 they differ")
add("sweep", "Make the runs of a study, many side by side; what is there is not made again.",
    "0 all cells are done; 1 a cell failed; 3 cells stalled, diverged, or are in the hands of another process")  # fmt: skip
add("collect", "Write what was measured in a sweep as a table.", "0 done")
add("plot", "Draw one or several run files as one picture.", "0 done")
add("verify", "Say whether theorems hold, in runs or over seeds, by how much and in which regime.",
    "0 nothing that was asked for fails; 1 something fails or is contradicted; 3 something is inconclusive")  # fmt: skip
add("figure", "Draw a figure of a paper from scratch.", "0 done")
add("report", "Write what came out of runs, or of a sweep, as one HTML file.", "0 done")
