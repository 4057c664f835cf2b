"""Twin of `lindero.kernels.blocks`, for one row at a time."""

from collections import OrderedDict


class RowCache:
    """Which rows are kept, oldest first."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.kept = OrderedDict()

    def use(self, row):
        """Whether the row was kept; it is the newest one afterwards."""
        found = row in self.kept
        self.kept[row] = True
        self.kept.move_to_end(row)
        while len(self.kept) > self.capacity:
            self.kept.popitem(last=False)
        return found
