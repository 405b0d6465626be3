"""The lists of typed prompts that Claude Code and Codex keep beside their sessions."""
