"""What people look at: charts, drawings, report pages, the terminal."""
