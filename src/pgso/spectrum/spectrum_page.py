"""The page of ``pgso spectrum``: one HTML file with its picture inside."""

import base64
from collections.abc import Sequence

from jinja2 import Environment, StrictUndefined

from pgso.graph import Graph
from pgso.gso.parameters import NAMES
from pgso.spectrum.summary import Summary

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Spectrum of {{ title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left }
img { max-width: 100% }
</style>
</head>
<body>
<h1>Spectrum of {{ title }}</h1>
<p>{{ "{:,}".format(graph.num_nodes) }} nodes, {{ "{:,}".format(graph.num_edges) }} directed edges.
Every eigenvalue lies in both intervals; the density is estimated from random probes.</p>
<table>
<tr><th>operator</th>{% for name in names %}<th>{{ name }}</th>{% endfor %}
<th>Theorem 2</th><th>optimal interval</th><th>smallest and largest eigenvalue</th></tr>
{% for s in summaries %}
<tr><td>{{ s.name }}</td>{% for value in s.S %}<td>{{ "%.4g"|format(value) }}</td>{% endfor %}
<td>{{ span(s.theorem2) }}</td><td>{{ span(s.optimal) }}</td><td>{{ span(s.extremes) }}</td></tr>
{% endfor %}
</table>
<img alt="Degree histogram, and the spectral density of each operator"
 src="data:image/png;base64,{{ picture }}">
</body>
</html>
"""


def span(values: Sequence[float]) -> str:
    """The two ends of some ascending values.

    Example:
        >>> span([-1.0, 0.25, 2.0])
        '[-1.0000, 2.0000]'
    """
    if len(values) == 0:
        return "not converged"
    return f"[{values[0]:z.4f}, {values[-1]:z.4f}]"


def render(graph: Graph, title: str, summaries: Sequence[Summary], png: bytes) -> str:
    """The page as text; names that come from users are escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(TEMPLATE).render(
        title=title,
        graph=graph,
        names=NAMES,
        summaries=summaries,
        span=span,
        picture=base64.b64encode(png).decode(),
    )
