"""Activations of the network."""
