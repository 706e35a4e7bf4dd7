"""`python -m keptstep` is the command `keptstep`."""

from keptstep.ops.cli import main

if __name__ == "__main__":
    main()
