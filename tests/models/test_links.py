import pytest
import torch

from pgso.errors import InputError
from pgso.models.gnn import GNN, LinkModel

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
PAIRS = torch.tensor([[[0, 1], [2, 2]], [[1, 0], [0, 2]]])


def model_of(decoder):
    return LinkModel(GNN("gcn", 4, 8, 8), 8, decoder).eval()


@pytest.mark.parametrize("decoder", ["dot", "bilinear", "mlp"])
def test_pairs_of_any_shape_are_scored_and_every_weight_learns(decoder):
    model, x = model_of(decoder), torch.randn(3, 4)
    out = model(x, PATH, PAIRS)
    assert out.shape == (2, 2)
    alone = model(x, PATH, PAIRS[1, 0])
    torch.testing.assert_close(alone, out[1, 0])
    out.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    assert len(model.operators) == 1


def test_the_dot_product_is_one():
    model, x = model_of("dot"), torch.randn(3, 4)
    z = model.encoder(x, PATH)
    expected = (z @ z.T)[PAIRS[..., 0], PAIRS[..., 1]]
    torch.testing.assert_close(model.decode(z, PAIRS), expected)


def test_only_the_bilinear_decoder_tells_source_and_target_apart():
    x = torch.randn(3, 4)
    for decoder, apart in (("dot", False), ("mlp", False), ("bilinear", True)):
        out = model_of(decoder)(x, PATH, PAIRS)
        assert torch.equal(out[0, 0], out[1, 0]) != apart


def test_another_decoder_is_refused():
    with pytest.raises(InputError, match="no decoder is called 'cosine'"):
        model_of("cosine")
