"""The parametrised graph shift operator γ(A, S); docs/architecture.md says what is where."""
