"""What must not happen."""


class Broken(Exception):  # noqa: N818
    """A promise was broken; the message says which."""
