"""What surrounds a fit: input, payment, checkpoints, the loop, the guarantee."""
