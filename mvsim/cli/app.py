"""The commands of ``mvsim``; each is imported when it is called, not before."""

from __future__ import annotations

from cyclopts import App

from mvsim.cli.config import apply_config
from mvsim.version import __version__

app = App(
    name="mvsim",
    help="Simulate the training dynamics of ERM and Midpoint Mixup on multi-view data, exactly, in correlation coordinates.",
    help_epilogue="Exit codes: 0 done; 1 something that was asked for fails or is contradicted; 2 bad usage or input; 3 inconclusive, diverged or "
    "stalled; 70 a bug of mvsim, of which MVSIM_TRACEBACK=1 in the environment shows the traceback; 130 interrupted.",
    version=__version__,
    group_parameters="Options",
    config=apply_config,
    help_format="plaintext",
    print_error=False,
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)
app.command("mvsim.cli.simulate:simulate", name="simulate", help="Train one network and keep its trajectory in a run file.")
app.command("mvsim.cli.sweep:sweep", name="sweep", help="Make the runs of a study, many side by side; what is there is not made again.")
app.command("mvsim.cli.collect:collect", name="collect", help="Write what was measured in a sweep as a table.")
app.command("mvsim.cli.plot:plot", name="plot", help="Draw one or several run files as one picture.")
app.command("mvsim.cli.verify:verify", name="verify", help="Say whether the theorems hold, by how much and in which regime.")
app.command("mvsim.cli.report:report", name="report", help="Write what came out of runs, or of a sweep, as one HTML file.")
