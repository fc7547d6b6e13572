"""Results of runs, for people: tables, plots, and one self-contained HTML file."""

from bitreplay.report._curves import draw_curves as draw_curves
from bitreplay.report._curves import draw_stability as draw_stability
from bitreplay.report._evaluation import Confusion as Confusion
from bitreplay.report._evaluation import write_evaluation as write_evaluation
from bitreplay.report._summary import write_summary as write_summary
from bitreplay.report._tables import csv_table as csv_table
from bitreplay.report._tables import markdown_table as markdown_table
from bitreplay.report._tables import states_csv as states_csv
from bitreplay.report._tables import terminal_table as terminal_table
from bitreplay.report._write import write_report

__all__ = ["write_report"]
