"""Charts: one description for pages and for print.

`description` says what a chart shows, without saying how it is drawn. `studies`, `searches` and `networks` describe the
charts of runs. `svg` draws a description for a page, `matplotlib` draws it for print.
"""
