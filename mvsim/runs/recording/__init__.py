"""What is measured along a trajectory: recorded variables, entries into B_{y,l}, the test of Definition 4.5."""
