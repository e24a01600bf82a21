"""The configurations of DeCarolis et al. 2020."""
