"""Ways to cut a corpus, set beside each other: cut, index, hand over, compare."""
