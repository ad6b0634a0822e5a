"""Fuzzers: random and hostile input, seeded; a few cases in the test suite, many by make fuzz."""
