"""NASRec: networks that predict clicks."""
