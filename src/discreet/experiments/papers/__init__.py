"""One folder per paper: author and year."""
