"""Bytes become blocks with their place in the file; one reader per format."""
