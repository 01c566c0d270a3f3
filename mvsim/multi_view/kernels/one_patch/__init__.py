"""Points with a single patch: outputs are matrix products.

==================  ========================================================================================
`one_patch_kernel`  the network on mixed points, for any activation
`linear_pairs`      the cross-entropy of all pairs and its derivatives, if the activation is the identity
==================  ========================================================================================
"""
