"""`python -m itransf` is `itransf`."""

from itransf.cli import main

if __name__ == "__main__":
    main()
