"""Networks with names, and the files that hold them."""
