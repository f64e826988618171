"""AutoFormer: vision transformers."""
