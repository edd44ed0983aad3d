"""Readers of model files: bytes in, `Graph` out. They never open a path, a URL or external data."""
