"""A program that adds an integrator and a method, and prints where these appear and what is made with them."""

import contextlib
import io
import json
from typing import Annotated

import pydantic

from mvsim.base.inputs import check_positive
from mvsim.flow import INTEGRATORS, Field, GradientDescent
from mvsim.multi_view.objectives import OBJECTIVES, Erm


class Damped(GradientDescent):
    name = "damped"
    option = "damping"
    letter = "eta"

    def __init__(self, field: Field, damping: Annotated[float | None, pydantic.Field(description="friction")] = None):
        super().__init__(field, 1.0)
        self.damping = self.check_option(0.1 if damping is None else damping)

    @staticmethod
    def check_option(value):
        return check_positive("eta", value)

    def options(self):
        return {"name": self.name, "damping": self.damping}


class Sharp(Erm):
    name = "sharp"


def said(*words):
    """Return exit code, stdout as one line without frames, and stderr of ``mvsim simulate``."""
    from mvsim.cli import main

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(["simulate", *words])
    return code, " ".join(out.getvalue().replace("│", " ").split()), err.getvalue()


if __name__ == "__main__":
    INTEGRATORS["damped"], OBJECTIVES["sharp"] = Damped, Sharp
    import mvsim  # what simulate takes follows from what is there when it is first used

    answer = {
        "help": said("--help"),
        "made": said("--config", "run.toml"),
        "provenance": mvsim.open_run("run.nc").provenance,
        "other": said("--config", "run.toml", "--eta", "0.7", "--resume"),
        "belongs": said("--k", "3", "--eta", "0.7"),
    }
    print(json.dumps(answer))
