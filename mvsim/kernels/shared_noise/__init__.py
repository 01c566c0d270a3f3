"""The compiled kernel for data whose noise is shared by the patches of a point."""
