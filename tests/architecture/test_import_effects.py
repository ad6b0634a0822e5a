"""Importing pgso changes nothing in the process that imports it."""

import json


def test_importing_every_module_leaves_the_process_as_it_was(walks):
    (line,) = [line for line in walks.splitlines() if line.startswith('{"modules"')] or [walks]
    effects = json.loads(line)
    assert effects["modules"] > 100
    assert effects["changed"] == {}
