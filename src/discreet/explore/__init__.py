"""The explorer: a page on this machine that shows a curator what is behind a model's topics.

Everything here is computed from the documents themselves, without noise, and no guarantee covers it. The pages need
``pip install 'discreet[explore]'``; what they show (`documents`, `shares`, `marked`, `classes`, `matched`) does not.
"""
