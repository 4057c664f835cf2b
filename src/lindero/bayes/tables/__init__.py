"""Tables as users bring them, read into codes and numbers."""
