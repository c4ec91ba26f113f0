"""`python -m contextpull`."""

from contextpull.cli.main import main

if __name__ == "__main__":
    main()
