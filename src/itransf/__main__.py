"""`python -m itransf` is `itransf`."""

from __future__ import annotations

from itransf.cli import main

if __name__ == "__main__":
    main()
