"""A Release as one page for people: what it promises, its topics, and what is left to do."""

from discreet.report.names import read_names
from discreet.report.page import report_html, write_report

__all__ = ["read_names", "report_html", "write_report"]
