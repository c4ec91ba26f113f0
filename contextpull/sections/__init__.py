"""Blocks become sections: cutting, ids, identifiers."""
