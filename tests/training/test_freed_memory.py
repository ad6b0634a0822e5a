import platform
import resource
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from pgso.training.engines import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
bytearray(2**26)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    bytes(bytearray(2**26))
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

RESIDENT = """
from pathlib import Path
from pgso.training.engines import give_freed_memory_back, keep_freed_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

keep_freed_memory()
buffers = [bytearray(2**20) for _ in range(256)]
last = bytearray(2**20)  # above them: the heap cannot simply shrink
del buffers
before = resident()
give_freed_memory_back()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_freed_memory_is_used_again_and_not_mapped_anew():
    given_back, kept = (
        int(subprocess.check_output([sys.executable, "-c", FAULTS, how]))
        for how in ("given back", "kept")
    )
    assert given_back > 3 * kept  # ten buffers against the first two


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_between_runs_freed_memory_goes_back_to_the_system():
    pages = int(subprocess.check_output([sys.executable, "-c", RESIDENT]))
    assert pages * resource.getpagesize() > 2**27  # of 2**28
