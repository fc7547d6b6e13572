"""The tool itself has no tests in it, and needs packages (`[mutants]`) that the others do without."""

collect_ignore = ["making.py", "run.py"]
