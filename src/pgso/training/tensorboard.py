"""Curves in TensorBoard: a watcher for ``fit``."""

from pathlib import Path
from typing import Any

from pgso.errors import InputError
from pgso.gso.parameters import NAMES
from pgso.records import RunSpec
from pgso.training.session import Session


class TensorBoard:
    """Log loss, scores, S and the certified interval of every epoch: ``fit(..., watch=...)``.

    Runs go to folders of their own, ``DATASET-CONV-OPERATOR-KEY``, in the one that
    ``tensorboard --logdir`` looks into.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise InputError(
                "logging for TensorBoard needs its package: pip install 'pgso[tensorboard]'"
            ) from None
        self.folder, self.new_writer = Path(folder), SummaryWriter
        self.spec: RunSpec | None = None  # of the run under way
        self.writer: Any = None

    def __call__(self, session: Session) -> None:
        """Log the epoch that has just ended; scores that do not exist are left out."""
        spec, epoch = session.spec, session.epoch - 1
        if spec != self.spec:
            self.close()
            dataset = Path(spec.dataset).name  # of a user's own folder, its last part
            run = self.folder / f"{dataset}-{spec.conv}-{spec.operator}-{spec.key}"
            # A resumed run replaces what it had logged after this epoch.
            self.spec, self.writer = spec, self.new_writer(str(run), purge_step=epoch)
        last = {name: curve[-1] for name, curve in session.curves.items() if curve}
        values = {"loss": last["loss"]}
        values |= {f"{session.task.metric}/{part}": last[part] for part in ("train", "val", "test")}
        for layer, S in enumerate(last["parameters"]):
            values |= {f"S{layer}/{name}": value for name, value in zip(NAMES, S, strict=True)}
        for layer, (low, high) in enumerate(last.get("interval", [])):
            values |= {f"interval{layer}/low": low, f"interval{layer}/high": high}
        for tag, value in values.items():
            if value is not None:
                self.writer.add_scalar(tag, value, epoch)
        self.writer.flush()
        if session.epoch == spec.epochs:
            self.close()

    def close(self) -> None:
        """End the log of the run under way; a run that reaches its last epoch does so itself."""
        if self.writer is not None:
            self.writer.close()
        self.spec = self.writer = None
