"""The parametrised graph shift operator γ(A, S).

Read in this order:

1. ``parameters``, ``presets``: S, the seven scalars, and named choices of it.
2. ``dense``: γ as a dense matrix. Slow and readable; tests compare everything else with it.
3. ``formula``: γ as a diagonal plus A between two diagonals. All fast code starts from there.
4. ``operator``: ``ShiftOperator``, γ on one graph as a value. ``node_shift`` has γ itself, with
   one S or an S per node, channel or head, and the product's gradients without a number per edge.
   ``algebra`` and ``polynomials`` combine operators.
5. ``module``: ``PGSO``, which holds S as parameters and makes operators (``gso.on(graph)``);
   ``shift``: the same without a module.
"""
