"""Small charts as SVG text: no scripts, no fonts, readable in light and dark, every mark with a tooltip."""
