"""Time and memory against size, and what sampling and processes give: ``make bench-scale``."""
