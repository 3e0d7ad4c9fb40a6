"""How a batch is fetched of a data set: by index, or as the next samples of a stream."""

from __future__ import annotations

from typing import Any, Final


class _BaseDatasetFetcher:
    """A data set with the loader's settings.

    Args:
        dataset: The data set.
        auto_collation: Whether an index is a list of them, whose samples are one batch.
        collate_fn: It makes a batch of samples, or converts one sample.
        drop_last: Whether a stream's last batch is left out where it is too short.
    """

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset, self.auto_collation = dataset, auto_collation
        self.collate_fn, self.drop_last = collate_fn, drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the batch of a list of indices, or the sample of one; ``StopIteration`` at a stream's end."""
        return self.collate_fn(self._get(possibly_batched_index))

    def _get(self, index: Any) -> Any:
        raise NotImplementedError


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Fetches samples by their indices."""

    def _get(self, index: Any) -> Any:
        if not self.auto_collation:
            return self.dataset[index]
        if getattr(self.dataset, "__getitems__", None):
            return self.dataset.__getitems__(index)
        return [self.dataset[each] for each in index]


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Fetches the next samples of a stream, of as many as there are indices."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter, self.ended = iter(dataset), False

    def _get(self, index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return next(self.dataset_iter)
        found = []
        for _ in index:
            try:
                found.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not found or (self.drop_last and len(found) < len(index)):
            raise StopIteration
        return found


class _DatasetKind:
    """The two kinds of data sets, as a loader's iterators know them."""

    Map: Final = 0
    Iterable: Final = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> _BaseDatasetFetcher:
        """Return the object that fetches batches of a data set of this kind."""
        found: type[_BaseDatasetFetcher] = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return found(dataset, auto_collation, collate_fn, drop_last)
