"""Splits histories into leaves, builds trees of groups above them, and reads trees.

Read sealing, layout, builder, unsealing, browse.
"""
