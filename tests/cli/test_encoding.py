"""ASCII terminals get ASCII: boxes, and words for our symbols."""

import os
import subprocess
import sys

import pytest

from pgso.cli.encoding import wants_ascii


@pytest.mark.parametrize(
    ("environment", "ascii_only"),
    [
        ({}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),  # as Python sets it
        ({"LC_ALL": "POSIX", "LANG": "en_GB.UTF-8"}, True),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
        ({"LANG": "en_GB.UTF-8"}, False),
        ({"LANG": "C", "PYTHONIOENCODING": "utf-8"}, False),
    ],
)
def test_the_locale_decides(environment, ascii_only):
    assert wants_ascii(environment) == ascii_only


def test_a_c_locale_gets_ascii_and_no_error(tmp_path):
    (tmp_path / "caf\u00e9").mkdir()
    code = (
        "from pgso.cli.encoding import write_what_the_terminal_reads as ready\n"
        "ready()\n"
        "from rich.table import Table\n"
        "from pgso.cli.terminal import Console\n"
        "table = Table('a')\n"
        "table.add_row('0.5 \u00b1 0.1 \u2192 caf\u00e9')\n"
        "Console().print(table)\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    environment = {**kept, "LANG": "C", "PYTHONIOENCODING": ""}
    del environment["PYTHONIOENCODING"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "0.5 +- 0.1 -> caf\\xe9" in done.stdout.decode("ascii")
