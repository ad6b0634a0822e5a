"""Give a trained PyG model a learned operator: ``python examples/convert_pyg_model.py``."""

import argparse

import torch
import torch_geometric.nn as pyg
from torch import nn

import pgso


def train(model: nn.Module, task: object, groups: object, epochs: int) -> None:
    """Full-batch training with Adam."""
    optimiser = torch.optim.Adam(groups, lr=0.01)
    model.train()
    for _ in range(epochs):
        optimiser.zero_grad()
        out = model(task.x, task.graph.edge_index)[task.train]
        nn.functional.cross_entropy(out, task.y[task.train]).backward()
        optimiser.step()


@torch.no_grad()
def accuracy(model: nn.Module, task: object) -> float:
    """On the test nodes."""
    predicted = model.eval()(task.x, task.graph.edge_index).argmax(dim=1)
    return float((predicted == task.y)[task.test].float().mean())


def main() -> None:
    """Train PyG's GCN, convert it, and go on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true", help="a few epochs on a small graph")
    toy = parser.parse_args().toy
    epochs = 3 if toy else 100

    torch.manual_seed(0)
    task = pgso.load_task("karate" if toy else "digits")
    model = pyg.GCN(task.num_features, 32, num_layers=2, out_channels=task.num_classes)
    train(model, task, model.parameters(), epochs)
    print(f"PyG's model: test accuracy {accuracy(model, task):.3f}")

    learned = pgso.convert(model, operator="mpgso")  # the same outputs, so far
    print(f"converted:   test accuracy {accuracy(learned, task):.3f}")
    train(learned, task, pgso.param_groups(learned, lr=0.01, exponent_lr=0.005), epochs)
    print(f"and trained: test accuracy {accuracy(learned, task):.3f}")
    for module in learned.modules():
        if isinstance(module, pgso.PGSO):
            print(module)

    served = pgso.fold(learned)  # S as constants: plain message passing, nothing left to learn
    print(f"to serve:    test accuracy {accuracy(served, task):.3f}")


if __name__ == "__main__":
    main()
