"""Where sweeps run: threads of this machine."""
