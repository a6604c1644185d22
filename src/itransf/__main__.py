"""`python -m itransf` is `itransf`."""

import sys
from importlib import import_module


def main() -> None:
    """Run a command; importing the command line, which takes a moment, ends quietly if it is interrupted."""
    try:
        cli = import_module("itransf.cli")
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
