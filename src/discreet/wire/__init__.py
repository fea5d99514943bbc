"""Bytes between parties: identities, encrypted streams, framed channels and what they count.

Nothing here knows a protocol or a private value; `discreet.session` is where steps meet channels.
"""
