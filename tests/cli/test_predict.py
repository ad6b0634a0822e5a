"""A saved model says whose columns it takes."""

import numpy as np


def test_columns_without_names_are_not_taken_from_another_dataset_in_silence(pgso):
    trained = pgso("train", "minesweeper", "--epochs", 1, "--save", "m.safetensors")
    assert trained.exit_code == 0, trained.output
    same = pgso("predict", "m.safetensors", "minesweeper")
    assert same.exit_code == 0, same.output
    assert same.stderr == ""
    other = pgso("predict", "m.safetensors", "./grid.npz")
    assert other.exit_code == 2  # there is none yet
    write_grid()
    other = pgso("predict", "m.safetensors", "./grid.npz")
    assert other.exit_code == 0, other.output
    assert "columns without names are taken to be those of minesweeper" in other.stderr


def write_grid():
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(20), np.roll(np.arange(20), 1)])
    y, x = np.arange(20) % 2, rng.random((20, 7)).astype(np.float32)
    np.savez("grid.npz", edge_index=edges, y=y, x=x)
