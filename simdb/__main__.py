"""`python -m simdb`: the command line."""

from simdb.cli.app import main

if __name__ == "__main__":
    main()
