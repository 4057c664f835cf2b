"""What model files hold, one module for each part of the library: checks of what is read."""
