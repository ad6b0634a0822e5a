import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from pgso.training.freed_memory import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
bytearray(2**26)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    bytes(bytearray(2**26))
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_freed_memory_is_used_again_and_not_mapped_anew():
    given_back, kept = (
        int(subprocess.check_output([sys.executable, "-c", FAULTS, how]))
        for how in ("given back", "kept")
    )
    assert given_back > 3 * kept  # ten buffers against the first two
