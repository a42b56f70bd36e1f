"""Batches of examples of about equal length, in a different order in every epoch."""

import numpy
import pytest
from headroom.engines.hub.classifier.trainer import GroupedBatches


class TestGroupedBatches:
    LENGTHS = tuple(numpy.random.default_rng(3).integers(3, 40, size=4 * 50 * 2 + 3).tolist())

    def batches(self, seed=1, epoch=0):
        found = GroupedBatches(self.LENGTHS, batch_size=4, seed=seed)
        found.set_epoch(epoch)
        return list(found)

    def test_every_example_is_in_one_batch_and_the_short_one_is_last(self):
        found = self.batches()
        assert len(found) == len(GroupedBatches(self.LENGTHS, batch_size=4, seed=1)) == 101
        assert sorted(place for batch in found for place in batch) == list(range(len(self.LENGTHS)))
        assert [len(batch) for batch in found] == [4] * 100 + [3]

    def test_batches_are_of_about_equal_length_and_in_no_order(self):
        found = self.batches()[:-1]
        spread = [max(self.LENGTHS[i] for i in batch) - min(self.LENGTHS[i] for i in batch) for batch in found]
        assert numpy.mean(spread) < 3  # 24 if they were drawn at random
        means = [numpy.mean([self.LENGTHS[i] for i in batch]) for batch in found]
        assert abs(numpy.corrcoef(means, range(len(means)))[0, 1]) < 0.3

    def test_order_is_a_function_of_seed_and_epoch(self):
        assert self.batches() == self.batches()
        assert self.batches(epoch=1) != self.batches()
        assert self.batches(seed=2) != self.batches()
        assert self.batches(seed=2) != self.batches(epoch=1)

    @pytest.mark.parametrize(("count", "sizes"), [(3, [3]), (4, [4]), (5, [4, 1])])
    def test_few_examples(self, count, sizes):
        found = list(GroupedBatches([7] * count, batch_size=4, seed=1))
        assert [len(batch) for batch in found] == sizes
