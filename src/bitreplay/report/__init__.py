"""Results of runs, for people: tables, plots, and one self-contained HTML file."""

from bitreplay.report._curves import draw_curves, draw_stability
from bitreplay.report._evaluation import Confusion, write_evaluation
from bitreplay.report._summary import write_summary
from bitreplay.report._tables import csv_table, markdown_table, states_csv, terminal_table
from bitreplay.report._write import write_report

__all__ = [
    "Confusion",
    "csv_table",
    "draw_curves",
    "draw_stability",
    "markdown_table",
    "states_csv",
    "terminal_table",
    "write_evaluation",
    "write_report",
    "write_summary",
]
