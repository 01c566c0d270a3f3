"""mvsim: a numerical simulator for the multi-view theory of Midpoint Mixup."""
