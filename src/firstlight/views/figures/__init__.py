"""Figures for publications, by matplotlib: `result.plot_curve()` and the like, and `firstlight plot`.

`ranks` has what a study of proxies shows, `searches` what searches do, `networks` what single networks do inside; each
function takes plain numbers and returns a figure. `studies` and `runs` have those numbers, from results and from their
folders. The report pages draw their own charts, which can be pointed at.
"""
