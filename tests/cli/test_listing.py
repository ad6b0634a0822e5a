"""``pgso list``: everything that is registered, in words and as JSON."""

import json

from pgso.convs import CONVS
from pgso.data import DATASETS
from pgso.gso.parameters import PRESETS
from pgso.objectives import OBJECTIVES
from pgso_studies.study import EXPERIMENTS


def test_everything_that_is_registered_is_listed(pgso):
    output = json.loads(pgso("list", "--json").stdout)
    named = {what: {row[what[:-1]].lower() for row in rows} for what, rows in output.items()}
    assert named == {
        "presets": set(PRESETS),
        "convs": set(CONVS),
        "datasets": set(DATASETS),
        "experiments": set(EXPERIMENTS),
        "objectives": set(OBJECTIVES),
    }


def test_presets_are_shown_with_their_values(pgso):
    shown = pgso("list", "presets").stdout
    (row,) = (line.split() for line in shown.splitlines() if line.split()[:1] == ["gcn"])
    assert row == ["gcn", "0", "1", "0", "0", "-0.5", "-0.5", "1"]
