"""Huang and Chen, Findings of EMNLP 2021 (SUB-LDA)."""
