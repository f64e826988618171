"""NASRec: networks for click prediction."""
