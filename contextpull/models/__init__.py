"""Clients of models, each behind one small protocol."""
