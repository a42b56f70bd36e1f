"""headroom: how much headroom is in multi-head attention?"""
