"""Rewrites of a graph, one file each; every one keeps what the graph computes and the names of its outputs."""
