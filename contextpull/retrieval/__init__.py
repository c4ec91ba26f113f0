"""Search, grep, read and index over an open store."""
