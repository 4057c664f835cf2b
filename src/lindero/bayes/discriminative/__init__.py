"""Networks whose counts are moved to make classes more probable."""
