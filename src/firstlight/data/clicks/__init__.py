"""Click prediction: logs of shown and clicked ads, prepared once and then read in batches."""

from firstlight.data.clicks.prepared import ClickData, is_clicks, open_clicks

__all__ = ["ClickData", "is_clicks", "open_clicks"]
