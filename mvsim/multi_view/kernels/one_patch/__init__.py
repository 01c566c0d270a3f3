"""Points with a single patch: outputs are matrix products.

=========  ========================================================================================
`kernel`   the network on mixed points, for any activation
`softmax`  the cross-entropy of all pairs and its derivatives, if the activation is the identity
=========  ========================================================================================
"""
