"""Message steps between parties: pure, with randomness passed in; no sockets.

A protocol is one generator function a party (`discreet.protocols.step`). What carries its messages is the
business of `discreet.session`, so vectors, transcripts and simulators need no network.
"""
