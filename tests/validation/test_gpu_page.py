"""What docs/gpu.md promises is what there is."""

import re
import shlex
from pathlib import Path

from mvsim.cli.app import app
from mvsim.multi_view.kernels import BACKENDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")


def test_the_extras_of_the_page_exist():
    extras = set(re.findall(r"cupy1\dx", PAGE))
    assert extras == {"cupy12x", "cupy13x"}
    setup = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert all(re.search(rf"^{extra} =$", setup, flags=re.MULTILINE) for extra in extras)


def test_every_backend_is_explained():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)) == set(BACKENDS)


def test_every_command_of_the_page_has_these_options():
    lines = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines() if line.startswith("mvsim ")]
    assert len(lines) == 2
    for line in lines:
        name, *words = shlex.split(line.removeprefix("mvsim "))
        known = {flag for argument in app[name].assemble_argument_collection() for flag in argument.names}
        assert {word for word in words if word.startswith("--")} <= known
    assert (ROOT / "validation" / "studies" / "gpu.py").exists()
