"""Serve the folder that the user of the bundle chose; it is the first argument."""

import sys

from contextpull.cli.main import main

if __name__ == "__main__":
    sys.argv[1:1] = ["serve"]
    main()
