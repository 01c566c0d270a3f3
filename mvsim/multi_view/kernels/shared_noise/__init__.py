"""The compiled kernel for data whose noise is shared by the patches of a point: its cost does not depend on P."""
