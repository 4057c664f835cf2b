"""Models in the text formats of LIBSVM and SVMlight."""
