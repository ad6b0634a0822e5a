"""Mini-batches of sampled neighbours: ``python examples/sampled_training.py``."""

import argparse

import torch
from torch import nn

import pgso
from pgso.scale import predict_by_layer


def main() -> None:
    """Train on batches that carry the degrees of the whole graph; predict layer by layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true", help="a small graph, one epoch")
    toy = parser.parse_args().toy

    torch.manual_seed(0)
    size = 30 if toy else 2000  # nodes of each of four communities, which features give away:
    # it is the batches that are to be seen here
    inside, outside = 20 / size, 4 / size
    task = pgso.load_task("sbm", communities=4, size=size, p=inside, q=outside, attributes="labels")
    print(task)
    loader = pgso.NeighborLoader(task, num_neighbors=[10, 5], batch_size=32 if toy else 512)
    model = pgso.GNN("gcn", task.num_features, 32, task.num_classes, num_layers=2)
    optimiser = torch.optim.Adam(pgso.param_groups(model, lr=0.01, exponent_lr=0.005))
    for epoch in range(1 if toy else 5):
        model.train()
        total = 0.0
        for batch in loader:
            optimiser.zero_grad()
            out = model(batch.x, batch.graph)[: batch.num_seeds]  # the seeds come first
            loss = nn.functional.cross_entropy(out, batch.y)
            loss.backward()
            optimiser.step()
            total += loss.item() / len(loader)
        print(f"epoch {epoch}: {len(loader)} batches, loss {total:.3f}")

    predicted = predict_by_layer(model, task.x, task.graph).argmax(dim=1)
    print(f"test accuracy {(predicted == task.y)[task.test].float().mean():.3f}")
    print("learned:", model.operators[0])


if __name__ == "__main__":
    main()
