"""``python -m lindero`` is the command ``lindero``."""

from lindero.cli.main import main

if __name__ == "__main__":
    main()
