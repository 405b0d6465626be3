"""LangGraph: a store for items, and a checkpointer for the states of threads.

    from treemem.integrations.langgraph import TreememSaver, TreememStore

Needs the extra "langgraph".
"""

try:
    import langgraph.checkpoint.base
    import langgraph.store.base  # noqa: F401
except ImportError as error:
    from treemem.integrations.absent import missing

    raise ImportError(missing("LangGraph", "langgraph")) from error

from treemem.integrations.langgraph.saver import TreememSaver
from treemem.integrations.langgraph.store import TreememStore

__all__ = ["TreememSaver", "TreememStore"]
