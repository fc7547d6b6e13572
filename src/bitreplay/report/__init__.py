"""What runs have shown, for people: tables, plots, and one HTML file that needs nothing else."""

from bitreplay.report._methods import RunResult
from bitreplay.report._summary import write_summary
from bitreplay.report._tables import csv_table, markdown_table, states_csv, terminal_table
from bitreplay.report._write import write_report

__all__ = [
    "RunResult",
    "csv_table",
    "markdown_table",
    "states_csv",
    "terminal_table",
    "write_report",
    "write_summary",
]
