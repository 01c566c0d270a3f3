"""Many runs: which ones a study asks for, the folder that keeps them, the engines that make them, and the table of what came out.

The truth is the folder: a cell is a run file, made and resumed by `mvsim.simulate`, under the name that `mvsim.runs.simulation.identity` gives it.
Engines are told what to make and hold nothing that a killed process would lose.
"""
