"""Locates the files on this machine: the memory, the models, and the logs of other tools. Sets how
often trees above the sources are rebuilt.

Paths come from the environment first (TREEMEM_DB, TREEMEM_MODELS, the variables of the tools), then
from the platform's own user folders. No file is opened or created here. The places of logs are
apart from the importers that read them, all of which take longer to import than to look there.

Tested in tests/test_memory.py and tests/ingest/test_discovery.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# The minimum time between two rebuilds of the trees above the sources, and between two model
# summaries of a root.
ROOT_INTERVAL_MS = 15 * 60 * 1000

# Where programs with windows have folders of their own, on each system.
USER_DATA = (".config", "Library/Application Support", "AppData/Roaming")
# Editors made of VS Code, by the folder of their data.
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Positron")
_EDITOR_FOLDERS = (
    *(f"{folder}/{editor}/User" for folder in USER_DATA for editor in _EDITORS),
    ".vscode-server/data/User",
    ".vscode-server-insiders/data/User",
)

# Glob patterns below the home folder, by format.
LOG_PLACES: dict[str, tuple[str, ...]] = {
    "claude-code": (
        ".claude/projects/*/*.jsonl",
        # Agents may start agents, and workflows keep theirs in folders of their own.
        ".claude/projects/*/*/subagents/**/*.jsonl",
        ".config/claude/projects/*/*.jsonl",
        ".config/claude/projects/*/*/subagents/**/*.jsonl",
    ),
    "codex": (
        ".codex/sessions/*/*/*/rollout-*.jsonl",
        ".codex/sessions/rollout-*.json*",
        ".codex/archived_sessions/rollout-*.jsonl",
    ),
    "gemini-cli": (
        ".gemini/tmp/*/chats/session-*.json",
        ".gemini/tmp/*/chats/session-*.jsonl",
        ".gemini/tmp/*/chats/*/*.jsonl",
    ),
    "copilot-cli": (
        ".copilot/session-state/*.jsonl",
        ".copilot/session-state/*/events.jsonl",
    ),
    "vscode-copilot": tuple(
        f"{folder}/{below}/*.json*"
        for folder in _EDITOR_FOLDERS
        for below in ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    ),
    "kiro": (
        *(
            f"{folder}/Kiro/User/globalStorage/kiro.kiroagent/{below}"
            for folder in USER_DATA
            for below in ("workspace-sessions/*/*-*-*-*-*.json", "*/*.chat")
        ),
        ".kiro/sessions/cli/*.jsonl",
        ".kiro/sessions/*/sess_*/messages.jsonl",
        *(
            f"{folder}/{tool}/data.sqlite3"
            for folder in (".local/share", "Library/Application Support", "AppData/Local")
            for tool in ("kiro-cli", "amazon-q")
        ),
    ),
    "windsurf": (
        ".windsurf/transcripts/*.jsonl",
        # Encrypted, to say so.
        ".codeium/windsurf/cascade/*.pb",
        ".codeium/windsurf-next/cascade/*.pb",
    ),
    "antigravity": tuple(
        f".gemini/{root}/{below}"
        for root in ("antigravity-cli", "antigravity", "antigravity-ide")
        for below in (
            "brain/*/.system_generated/logs/transcript.jsonl",
            "brain/*/.system_generated/logs/transcript_full.jsonl",
            "conversations/*.db",
            "conversations/*.pb",
        )
    ),
    "opencode": (
        ".local/share/opencode/opencode*.db",
        ".local/share/opencode/storage/session/*/*.json",
    ),
    "cline": (
        ".cline/data/sessions/*/*.messages.json",
        ".cline/data/tasks/*/api_conversation_history.json",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/*/"
        "api_conversation_history.json",
        ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/*/"
        "api_conversation_history.json",
        "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/*/"
        "api_conversation_history.json",
        "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/*/"
        "api_conversation_history.json",
    ),
    "cursor": (
        ".config/Cursor/User/globalStorage/state.vscdb",
        ".config/Cursor/User/workspaceStorage/*/state.vscdb",
        ".cursor/chats/*/*/store.db",
        "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
        "Library/Application Support/Cursor/User/workspaceStorage/*/state.vscdb",
    ),
    "aider": (
        ".aider.chat.history.md",
        "*/.aider.chat.history.md",
        "*/*/.aider.chat.history.md",
    ),
    "specstory": (
        ".specstory/history/*.md",
        "*/.specstory/history/*.md",
        "*/*/.specstory/history/*.md",
    ),
    "pi": (".pi/agent/sessions/*/*.jsonl",),
    "goose": (
        ".local/share/goose/sessions/sessions.db",
        ".local/share/goose/sessions/*.jsonl",
        ".config/goose/sessions/*.jsonl",
        "Library/Application Support/Block/goose/sessions/sessions.db",
        "AppData/Roaming/Block/goose/data/sessions/sessions.db",
        "AppData/Roaming/Block/goose/data/sessions/*.jsonl",
    ),
    "zed": (
        ".local/share/zed/threads/threads.db",
        ".var/app/dev.zed.Zed/data/zed/threads/threads.db",
        "Library/Application Support/Zed/threads/threads.db",
        "AppData/Local/Zed/threads/threads.db",
    ),
    "openhands": (
        ".openhands/conversations/*/base_state.json",
        ".openhands/conversations/*/subagents/*/base_state.json",
        ".openhands/agent-canvas/conversations/*/base_state.json",
        ".openhands/agent-canvas/conversations/*/subagents/*/base_state.json",
        # Before version 1.
        ".openhands/sessions/*/events/0.json",
        ".openhands/users/*/conversations/*/events/0.json",
        ".openhands-state/sessions/*/events/0.json",
    ),
    # The list of sessions beside them has no dash in its name.
    "continue": (".continue/sessions/*-*.json",),
    # Crush lists its other projects itself, see its importer.
    "crush": (".crush/crush.db", "*/.crush/crush.db", "*/*/.crush/crush.db"),
    "droid": (
        ".factory/sessions/*.jsonl",
        ".factory/sessions/*/*.jsonl",
    ),
    "amp": (
        ".local/share/amp/threads/T-*.json",
        ".config/Code/User/globalStorage/sourcegraph.amp/threads3/T-*.json",
        "Library/Application Support/Code/User/globalStorage/sourcegraph.amp/threads3/T-*.json",
        "AppData/Roaming/Code/User/globalStorage/sourcegraph.amp/threads3/T-*.json",
    ),
    # Where its documentation says to keep it; inside of containers it is not found.
    "open-webui": (".open-webui/webui.db",),
    "prompt-history": (
        ".claude/history.jsonl",
        ".config/claude/history.jsonl",
        ".codex/history.jsonl",
    ),
    "llm": (
        ".config/io.datasette.llm/logs.db",
        "Library/Application Support/io.datasette.llm/logs.db",
    ),
    "irc": (
        "irclogs/**/*.log",
        ".irssi/logs/**/*.log",
        ".weechat/logs/*.weechatlog",
        ".local/share/weechat/logs/*.weechatlog",
        ".znc/users/*/moddata/log/**/*.log",
        ".znc/moddata/log/**/*.log",
        ".config/hexchat/logs/**/*.log",
    ),
}

# A folder below the home folder, the variable that overrides it, and the path that the tool appends
# to the variable's value. The first variable that is set counts.
_OVERRIDES = (
    (".claude/", "CLAUDE_CONFIG_DIR", ""),
    (".codex/", "CODEX_HOME", ""),
    (".copilot/", "COPILOT_HOME", ""),
    (".kiro/", "KIRO_HOME", ""),
    (".gemini/", "GEMINI_CLI_HOME", ".gemini/"),
    (".pi/agent/", "PI_CODING_AGENT_DIR", ""),
    (".openhands/conversations/", "OPENHANDS_CONVERSATIONS_DIR", ""),
    (".openhands/agent-canvas/conversations/", "OH_CONVERSATIONS_PATH", ""),
    (".continue/", "CONTINUE_GLOBAL_DIR", ""),
    (".local/share/crush/", "CRUSH_GLOBAL_DATA", ""),
    ("AppData/Local/crush/", "CRUSH_GLOBAL_DATA", ""),
    (".local/share/goose/", "GOOSE_PATH_ROOT", "data/"),
    ("AppData/Roaming/Block/goose/data/", "GOOSE_PATH_ROOT", "data/"),
    (".config/io.datasette.llm/", "LLM_USER_PATH", ""),
    ("Library/Application Support/io.datasette.llm/", "LLM_USER_PATH", ""),
    (".config/", "XDG_CONFIG_HOME", ""),
    (".local/share/", "XDG_DATA_HOME", ""),
    (".local/state/", "XDG_STATE_HOME", ""),
    ("AppData/Roaming/", "APPDATA", ""),
    ("AppData/Local/", "LOCALAPPDATA", ""),
)
_WILD = "*?["


def default_database_path() -> Path:
    """Returns TREEMEM_DB, or treemem.sqlite3 in the user's data folder."""
    path = os.environ.get("TREEMEM_DB")
    return Path(path) if path else data_folder() / "treemem.sqlite3"


def models_folder() -> Path:
    """Returns TREEMEM_MODELS, or the folder `models` in the user's data folder."""
    path = os.environ.get("TREEMEM_MODELS")
    return Path(path) if path else data_folder() / "models"


def servers_path() -> Path:
    """Returns TREEMEM_SERVERS, or the list of model servers in the user's data folder."""
    path = os.environ.get("TREEMEM_SERVERS")
    return Path(path) if path else data_folder() / "servers.json"


def located(pattern: str, environ: Mapping[str, str], home: Path) -> tuple[Path, str]:
    """The folder of a pattern, which a tool's environment variable may name, and the rest of the
    pattern below it.

    Example:
        >>> folder, below = located(".codex/sessions/*.jsonl", {"CODEX_HOME": "/c"}, Path("/h"))
        >>> folder.as_posix(), below
        ('/c/sessions', '*.jsonl')
    """
    folder = home
    for prefix, variable, below in _OVERRIDES:
        if pattern.startswith(prefix) and environ.get(variable):
            folder = Path(environ[variable]).expanduser()
            pattern = below + pattern.removeprefix(prefix)
            break
    steps = pattern.split("/")
    while len(steps) > 1 and not any(char in steps[0] for char in _WILD):
        folder /= steps.pop(0)
    return folder, "/".join(steps)


def data_folder() -> Path:
    """Returns the folder of this program in the user's data folder."""
    import platformdirs

    return Path(platformdirs.user_data_dir("treemem"))
