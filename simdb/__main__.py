"""Command line: `python -m simdb` is the same as `simdb`."""

from simdb.cli.app import main

if __name__ == "__main__":
    main()
