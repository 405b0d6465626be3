"""The formats that treemem reads: a row each, from which all that names formats is derived.

Data alone. Whoever lists formats, looks for logs or says what a source is would wait for the
importers, all of which take longer to import than these things take.

Tested in tests/importers/test_table.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from treemem.types import SourceKind

# Where programs with windows have folders of their own, on each system.
USER_DATA = (".config", "Library/Application Support", "AppData/Roaming")
# Editors made of VS Code, by the folder of their data.
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Positron")
_EDITOR_FOLDERS = (
    *(f"{folder}/{editor}/User" for folder in USER_DATA for editor in _EDITORS),
    ".vscode-server/data/User",
    ".vscode-server-insiders/data/User",
)

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


class Format(NamedTuple):
    """A format that treemem reads.

    name: the value of --format and the prefix of source ids. importer: "module:class", below
    treemem.importers. kind: of its sources; None if who speaks in one decides. tool: what the tool
    is called; None if several tools write the format. places: glob patterns below the home folder
    for the tool's logs. variables: (a folder below the home folder, the variable that overrides it,
    the path that the tool appends to the variable's value). files: how many files tell of a source:
    "one"; "beside", one with the messages and others that its importer names; or "parts", several
    with messages. resumed_by: the command that continues a session, to which its id is added, and
    the shape of ids.
    """

    name: str
    importer: str
    kind: SourceKind | None = None
    tool: str | None = None
    places: tuple[str, ...] = ()
    variables: tuple[tuple[str, str, str], ...] = ()
    files: Literal["one", "beside", "parts"] = "one"
    resumed_by: tuple[str, str] | None = None


# The order matters only when importers score a file equally, and where formats are listed.
FORMATS = (
    # Sessions with assistants.
    Format("claude-code", "claude_code.importer:ClaudeCode", "agent", "Claude Code",
        resumed_by=("claude --resume", _UUID),
        variables=((".claude/", "CLAUDE_CONFIG_DIR", ""),),
        places=(
            ".claude/projects/*/*.jsonl",
            # Agents may start agents, and workflows keep theirs in folders of their own.
            ".claude/projects/*/*/subagents/**/*.jsonl",
            ".config/claude/projects/*/*.jsonl",
            ".config/claude/projects/*/*/subagents/**/*.jsonl",
        )),
    Format("codex", "codex.importer:Codex", "agent", "Codex", resumed_by=("codex resume", _UUID),
        variables=((".codex/", "CODEX_HOME", ""),),
        places=(
            ".codex/sessions/*/*/*/rollout-*.jsonl",
            ".codex/sessions/rollout-*.json*",
            ".codex/archived_sessions/rollout-*.jsonl",
        )),
    Format("gemini-cli", "gemini_cli:GeminiCli", "agent", "Gemini CLI",
        resumed_by=("gemini --resume", _UUID),
        variables=((".gemini/", "GEMINI_CLI_HOME", ".gemini/"),),
        places=(
            ".gemini/tmp/*/chats/session-*.json",
            ".gemini/tmp/*/chats/session-*.jsonl",
            ".gemini/tmp/*/chats/*/*.jsonl",
        )),
    Format("copilot-cli", "copilot_cli:CopilotCli", "agent", "Copilot CLI",
        resumed_by=("copilot --resume", _UUID), variables=((".copilot/", "COPILOT_HOME", ""),),
        places=(
            ".copilot/session-state/*.jsonl",
            ".copilot/session-state/*/events.jsonl",
        )),
    Format("vscode-copilot", "vscode_copilot.importer:VsCodeCopilot", "agent", "VS Code Copilot",
        files="beside",
        places=tuple(
            f"{folder}/{below}/*.json*"
            for folder in _EDITOR_FOLDERS
            for below in (
                "workspaceStorage/*/chatSessions",
                "globalStorage/emptyWindowChatSessions",
            )
        )),
    Format("kiro", "kiro.importer:Kiro", "agent", "Kiro", files="beside",
        variables=((".kiro/", "KIRO_HOME", ""),),
        places=(
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
        )),
    Format("windsurf", "windsurf.importer:Windsurf", "agent", "Windsurf",
        places=(
            ".windsurf/transcripts/*.jsonl",
            # Encrypted, to say so.
            ".codeium/windsurf/cascade/*.pb",
            ".codeium/windsurf-next/cascade/*.pb",
        )),
    Format("antigravity", "antigravity.importer:Antigravity", "agent", "Antigravity",
        files="beside",
        places=tuple(
            f".gemini/{root}/{below}"
            for root in ("antigravity-cli", "antigravity", "antigravity-ide")
            for below in (
                "brain/*/.system_generated/logs/transcript.jsonl",
                "brain/*/.system_generated/logs/transcript_full.jsonl",
                "conversations/*.db",
                "conversations/*.pb",
            )
        )),
    Format("opencode", "opencode.importer:OpenCode", "agent", "opencode", files="parts",
        resumed_by=("opencode --session", r"ses_[A-Za-z0-9]{8,64}"),
        places=(
            ".local/share/opencode/opencode*.db",
            ".local/share/opencode/storage/session/*/*.json",
        )),
    Format("cline", "cline.importer:Cline", "agent", "Cline", files="beside",
        places=(
            ".cline/data/sessions/*/*.messages.json",
            ".cline/data/tasks/*/api_conversation_history.json",
            ".config/Code/User/globalStorage/saoudrizwan.claude-dev/"
            "tasks/*/api_conversation_history.json",
            ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/"
            "tasks/*/api_conversation_history.json",
            "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/"
            "tasks/*/api_conversation_history.json",
            "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/"
            "tasks/*/api_conversation_history.json",
        )),
    Format("cursor", "cursor.importer:Cursor", "agent", "Cursor", files="beside",
        places=(
            ".config/Cursor/User/globalStorage/state.vscdb",
            ".config/Cursor/User/workspaceStorage/*/state.vscdb",
            ".cursor/chats/*/*/store.db",
            "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
            "Library/Application Support/Cursor/User/workspaceStorage/*/state.vscdb",
        )),
    Format("aider", "aider:Aider", "agent", "aider",
        places=(
            ".aider.chat.history.md",
            "*/.aider.chat.history.md",
            "*/*/.aider.chat.history.md",
        )),
    Format("specstory", "specstory:SpecStory", "agent",
        places=(
            ".specstory/history/*.md",
            "*/.specstory/history/*.md",
            "*/*/.specstory/history/*.md",
        )),
    Format("pi", "pi:Pi", "agent", "pi", resumed_by=("pi --session", _UUID),
        variables=((".pi/agent/", "PI_CODING_AGENT_DIR", ""),),
        places=(".pi/agent/sessions/*/*.jsonl",)),
    Format("goose", "goose.importer:Goose", "agent", "Goose", files="beside",
        variables=(
            (".local/share/goose/", "GOOSE_PATH_ROOT", "data/"),
            ("AppData/Roaming/Block/goose/data/", "GOOSE_PATH_ROOT", "data/"),
        ),
        places=(
            ".local/share/goose/sessions/sessions.db",
            ".local/share/goose/sessions/*.jsonl",
            ".config/goose/sessions/*.jsonl",
            "Library/Application Support/Block/goose/sessions/sessions.db",
            "AppData/Roaming/Block/goose/data/sessions/sessions.db",
            "AppData/Roaming/Block/goose/data/sessions/*.jsonl",
        )),
    Format("zed", "zed.importer:Zed", "agent", "Zed", files="beside",
        places=(
            ".local/share/zed/threads/threads.db",
            ".var/app/dev.zed.Zed/data/zed/threads/threads.db",
            "Library/Application Support/Zed/threads/threads.db",
            "AppData/Local/Zed/threads/threads.db",
        )),
    Format("crush", "crush.importer:Crush", "agent", "Crush", files="beside",
        variables=(
            (".local/share/crush/", "CRUSH_GLOBAL_DATA", ""),
            ("AppData/Local/crush/", "CRUSH_GLOBAL_DATA", ""),
        ),
        # Crush lists its other projects itself, see its importer.
        places=(".crush/crush.db", "*/.crush/crush.db", "*/*/.crush/crush.db")),
    Format("continue", "continue_dev.importer:Continue", "agent", "Continue",
        variables=((".continue/", "CONTINUE_GLOBAL_DIR", ""),),
        # The list of sessions beside them has no dash in its name.
        places=(".continue/sessions/*-*.json",)),
    Format("openhands", "openhands.importer:OpenHands", "agent", "OpenHands", files="beside",
        variables=(
            (".openhands/conversations/", "OPENHANDS_CONVERSATIONS_DIR", ""),
            (".openhands/agent-canvas/conversations/", "OH_CONVERSATIONS_PATH", ""),
        ),
        places=(
            ".openhands/conversations/*/base_state.json",
            ".openhands/conversations/*/subagents/*/base_state.json",
            ".openhands/agent-canvas/conversations/*/base_state.json",
            ".openhands/agent-canvas/conversations/*/subagents/*/base_state.json",
            # Before version 1.
            ".openhands/sessions/*/events/0.json",
            ".openhands/users/*/conversations/*/events/0.json",
            ".openhands-state/sessions/*/events/0.json",
        )),
    Format("droid", "droid.importer:Droid", "agent", "Factory droid",
        places=(
            ".factory/sessions/*.jsonl",
            ".factory/sessions/*/*.jsonl",
        )),
    Format("amp", "amp.importer:Amp", "agent", "Amp",
        places=(
            ".local/share/amp/threads/T-*.json",
            ".config/Code/User/globalStorage/sourcegraph.amp/threads3/T-*.json",
            "Library/Application Support/Code/User/globalStorage/sourcegraph.amp/threads3/T-*.json",
            "AppData/Roaming/Code/User/globalStorage/sourcegraph.amp/threads3/T-*.json",
        )),
    Format("grok-build", "grok_build.importer:GrokBuild", "agent", "Grok Build", files="beside",
        resumed_by=("grok --resume", _UUID), variables=((".grok/", "GROK_HOME", ""),),
        places=(
            ".grok/sessions/*/*/updates.jsonl",
            # Of sessions without updates; beside them it only tells the same again.
            ".grok/sessions/*/*/chat_history.jsonl",
        )),
    Format("prompt-history", "prompt_history.importer:PromptHistory", "agent",
        places=(
            ".claude/history.jsonl",
            ".config/claude/history.jsonl",
            ".codex/history.jsonl",
        )),
    Format("trajectory", "trajectory.importer:Trajectory", "agent"),
    Format("inspect", "inspect_log.importer:InspectLog", "agent", "Inspect", files="beside"),
    Format("chatgpt", "chatgpt:ChatGpt", "assistant", "ChatGPT", files="beside"),
    Format("claude-ai", "claude_ai:ClaudeAi", "assistant", "Claude"),
    Format("open-webui", "open_webui.importer:OpenWebUi", "assistant", "Open WebUI",
        files="beside",
        # Where its documentation says to keep it; inside of containers it is not found.
        places=(".open-webui/webui.db",)),
    Format("librechat", "librechat.importer:LibreChat", "assistant", "LibreChat"),
    Format("grok", "grok.importer:Grok", "assistant", "Grok"),
    Format("llm", "llm.importer:LlmLogs", "assistant", files="beside",
        variables=(
            (".config/io.datasette.llm/", "LLM_USER_PATH", ""),
            ("Library/Application Support/io.datasette.llm/", "LLM_USER_PATH", ""),
        ),
        places=(
            ".config/io.datasette.llm/logs.db",
            "Library/Application Support/io.datasette.llm/logs.db",
        )),
    Format("langchain", "langchain:LangChain"),
    # Conversations between people.
    Format("slack", "slack.importer:Slack", "people", "Slack", files="parts"),
    Format("slackdump", "slackdump.importer:Slackdump", "people", "Slack", files="parts"),
    Format("discord", "discord:Discord", "people", "Discord"),
    Format("matrix", "matrix.importer:Matrix", "people", "Matrix"),
    Format("telegram", "telegram:Telegram", "people", "Telegram"),
    Format("whatsapp", "whatsapp.importer:WhatsApp", "people", "WhatsApp"),
    Format("messenger", "messenger:Messenger", "people", "Messenger", files="parts"),
    Format("signal", "signal_export.importer:Signal", "people", "Signal",
        # Encrypted, to say so.
        places=(
            *(f"{folder}/Signal/sql/db.sqlite" for folder in USER_DATA),
            ".var/app/org.signal.Signal/config/Signal/sql/db.sqlite",
        )),
    Format("imessage", "imessage.importer:IMessage", "people", "Messages", files="beside",
        places=("Library/Messages/chat.db",)),
    Format("mail", "mail.importer:MailImporter", "mail"),
    Format("transcript", "transcript:Transcript"),
    Format("irc", "irc:Irc", "people", "IRC", files="parts",
        places=(
            "irclogs/**/*.log",
            ".irssi/logs/**/*.log",
            ".weechat/logs/*.weechatlog",
            ".local/share/weechat/logs/*.weechatlog",
            ".znc/users/*/moddata/log/**/*.log",
            ".znc/moddata/log/**/*.log",
            ".config/hexchat/logs/**/*.log",
        )),
    # Documents.
    Format("html", "html.importer:Html"),
    Format("docx", "docx.importer:Docx", "document"),
    Format("pdf", "pdf:Pdf", "document"),
    # Generic formats.
    Format("chat", "chat.importer:ChatJsonl"),
    Format("markdown", "markdown:Markdown"),
    Format("plain-text", "plain_text:PlainText"),
)  # fmt: skip
BY_NAME = {row.name: row for row in FORMATS}
