"""What learns: the process that trains on closed windows, and the model between two of them."""
