"""A browser that fills the terminal. In order: command, app, views, dialogs."""
