"""A GCN with a learned operator on the digits graph: on A, and on its PageRank diffusion.

A base is a graph like any other, so nothing else changes: python examples/diffusion_base.py
"""

import torch
from torch.nn.functional import cross_entropy

import pgso

torch.manual_seed(0)
task = pgso.load_task("digits")
bases = {"A": task.graph, "ppr": pgso.bases.diffusion(task.graph, "ppr", eps=1e-2, top_k=32)}

for name, graph in bases.items():
    model = pgso.GNN("gcn", task.num_features, 32, task.num_classes)
    optimiser = torch.optim.Adam(pgso.param_groups(model))
    for _ in range(30):
        optimiser.zero_grad()
        loss = cross_entropy(model(task.x, graph)[task.train], task.y[task.train])
        loss.backward()
        optimiser.step()
    model.eval()
    predicted = model(task.x, graph)[task.test].argmax(dim=1)
    accuracy = (predicted == task.y[task.test]).float().mean()
    print(f"{name}: {graph.num_edges} edges, test accuracy {100 * accuracy:.1f}")
