"""The threads of Amp."""
