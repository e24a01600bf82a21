"""Zhao, Ren, Yang and Yang, IJCAI 2019."""
