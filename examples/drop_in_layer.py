"""PGSO layers in a network of your own: ``python examples/drop_in_layer.py``."""

import argparse

import torch
from torch import Tensor, nn

import pgso


class Network(nn.Module):
    """Two layers that share one learned operator."""

    def __init__(self, in_channels: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.gso = pgso.PGSO("gcn")
        self.first = pgso.GCNConv(in_channels, hidden, self.gso)
        self.second = pgso.GCNConv(hidden, classes, self.gso)

    def forward(self, x: Tensor, graph: pgso.Graph) -> Tensor:
        """Logits of every node."""
        h = self.first(x, graph).relu()
        return self.second(nn.functional.dropout(h, training=self.training), graph)


def main() -> None:
    """Train on scikit-learn's digits, linked to their nearest neighbours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true", help="a few epochs on a small graph")
    toy = parser.parse_args().toy

    torch.manual_seed(0)
    task = pgso.load_task("karate" if toy else "digits")
    model = Network(task.num_features, 32, task.num_classes)
    groups = pgso.param_groups(model, lr=0.01, exponent_lr=0.005, weight_decay=5e-4)
    optimiser = torch.optim.Adam(groups)
    for epoch in range(5 if toy else 100):
        model.train()
        optimiser.zero_grad()
        out = model(task.x, task.graph)
        loss = nn.functional.cross_entropy(out[task.train], task.y[task.train])
        loss.backward()
        optimiser.step()
        if epoch % 20 == 0:
            print(f"epoch {epoch}: loss {loss:.3f}")

    model.eval()
    right = model(task.x, task.graph).argmax(dim=1)[task.test] == task.y[task.test]
    print(f"test accuracy {right.float().mean():.3f}")
    print("learned:", model.gso)


if __name__ == "__main__":
    main()
