import subprocess
import sys
import time
from pathlib import Path

BUSY = """
import pgso.training.orphans
print("ready", flush=True)
while True:
    sum(range(1000))
"""
PARENT = """
import subprocess, sys
busy = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
busy.stdout.readline()
print(busy.pid)
"""


def test_a_busy_process_ends_after_its_parent():
    command = [sys.executable, "-c", PARENT, BUSY]
    process = int(subprocess.check_output(command, text=True, timeout=60))
    deadline = time.monotonic() + 60
    while _runs(process):
        assert time.monotonic() < deadline, "the process outlived its parent"
        time.sleep(0.05)


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
