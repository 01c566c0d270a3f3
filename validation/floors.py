"""Make an environment with the least version of every library that setup.cfg allows, and use each command there.

    python validation/floors.py [FOLDER]

It takes some minutes and needs a package index. It fails with the command that failed, and says which versions were installed.
"""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("sweep", "report", "digits")
COMMANDS = (
    "simulate --k 3 --m 2 --N 12 --method erm --t-end 100 --n-test 2 --quiet --out run.nc",
    'simulate --k 3 --m 2 --N 12 --method mixup --nodes 3 --beta-law {"kind":"beta","a":2} --t-end 10 --n-test 2 --quiet --out mixup.nc',
    "show run.nc --json",
    "plot run.nc --out run.svg",
    "verify run.nc --quiet",
    "sweep --k 3 --m 2 --N 12 --method erm,midpoint --t-end 10 --n-test 2 --workers 2 --quiet --out cells",
    "collect cells",
    "report run.nc --quiet --out run.html",
    "figure variance/4 --out digits.png",
)
SOME_VERDICT = (0, 1, 3)
"""Exit codes of a judgement: what comes out of so short a run is not asked."""


def floors(config: Path = ROOT / "setup.cfg") -> list[str]:
    """Return each requirement, those of the extras too, at its least version."""
    parser = configparser.ConfigParser()
    parser.read(config)
    lines = parser["options"]["install_requires"].split()
    lines += [line for extra in EXTRAS for line in parser["options.extras_require"][extra].split()]
    without = [line for line in lines if ">=" not in line]
    if without:
        raise SystemExit(f"no least version in setup.cfg: {', '.join(without)}")
    return [re.sub(r">=([^,]+).*", r"==\1", line) for line in lines]


def main(folder: Path) -> None:
    """Install the floors in a new environment in a folder, and run the commands there."""
    venv.create(folder / "venv", with_pip=True, clear=True)
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *floors()], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", str(ROOT)], check=True)
    for command in COMMANDS:
        allowed = SOME_VERDICT if command.startswith("verify") else (0,)
        done = subprocess.run([python, "-W", "ignore", "-m", "mvsim", *command.split()], cwd=folder, check=False, capture_output=True, text=True)
        print(f"{done.returncode}  mvsim {command}", flush=True)
        if done.returncode not in allowed:
            raise SystemExit(f"{done.stdout}{done.stderr}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).resolve())
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
