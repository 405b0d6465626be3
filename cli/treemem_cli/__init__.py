"""The command line: main, context, parameters, render, then one file per command in each folder."""
