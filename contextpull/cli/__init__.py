"""Commands: one file per group; they wire parts and hold no logic."""
