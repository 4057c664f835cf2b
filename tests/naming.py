"""Names of parametrised cases that are the same in every process."""

import re


def steady(value):
    """A value as text, without the places in memory of what it holds."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
