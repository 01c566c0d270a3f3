"""The paper's data, network and objectives, in correlations of weights and features."""
