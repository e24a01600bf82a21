"""Topic shares by time or class: public slices, one noisy sum in each cell, shares with their errors, and a page."""
