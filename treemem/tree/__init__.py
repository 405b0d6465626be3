"""Cuts histories into leaves, builds trees of groups over them, and reads trees back.

Read sealing, layout, builder, unsealing, browse.
"""
