"""transformers' Trainer with batches of our own, an arm's work on the forward pass, and exact shares of a batch."""

from typing import Any

from accelerate.data_loader import prepare_data_loader  # type: ignore[import-untyped]
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback

from headroom.models.classification.examples import GroupedBatches, length
from headroom.models.classification.inputs import real_positions
from headroom.models.processes import process_count, sum_over_processes, this_process
from headroom.models.regularisation import Regulariser


class StopAfter(TrainerCallback):
    """Ends a training after an epoch, when it is judged and saved."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Ask the Trainer to stop."""
        control.should_training_stop = round(state.epoch) >= self._epoch


class GroupingTrainer(Trainer):
    """The Trainer with `GroupedBatches`, since its own grouping orders the batches by length, and a regulariser.

    Of processes that train together each has a part of every batch. What they compute is weighted so that the
    mean over processes, which the Trainer takes of gradients, is what one process would compute of the whole batch.
    """

    def __init__(self, *, regulariser: Regulariser | None, **parts: Any) -> None:
        super().__init__(**parts)
        self._regulariser = regulariser

    def compute_loss(self, model: Any, inputs: Any, *rest: Any, **options: Any) -> Any:
        """Return the loss of a batch in training, with the term of the arm; in evaluation the Trainer's own."""
        compute: Any = super().compute_loss
        if not model.training:
            return compute(model, inputs, *rest, **options)
        examples = self._share(inputs["labels"].new_tensor(len(inputs["labels"])))
        if self._regulariser is None:
            return compute(model, inputs, *rest, **options) * examples
        real = real_positions(self.model, inputs["attention_mask"])
        loss, term = self._regulariser(
            lambda: compute(model, inputs, *rest, **options),
            real,
            update=self.state.global_step,
            batch=0,
            part=this_process(),
        )
        return loss * examples + term * self._share(real["E"][0].sum())

    def _share(self, own: Tensor) -> Tensor | float:
        """Return how much more than its equal share of a batch this process has, given how much it has, ()."""
        if process_count() == 1:
            return 1.0
        counted = own * self._batches.has_part(self.state.global_step % len(self._batches))
        return counted * process_count() / sum_over_processes(counted)

    def get_train_dataloader(self) -> DataLoader:
        """Return the batches of an epoch, or this process's part of each."""
        examples: Any = self.train_dataset
        self._batches = GroupedBatches(
            [length(example) for example in examples],
            batch_size=self.args.train_batch_size * process_count(),
            seed=self.args.seed,
            part=this_process(),
            parts=process_count(),
        )
        loader = DataLoader(
            examples,
            batch_sampler=self._batches,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )
        # as the accelerator would, but for the parts, which it would make equal with examples from elsewhere
        return prepare_data_loader(
            loader, self.accelerator.device, num_processes=1, process_index=0, put_on_device=True
        )
