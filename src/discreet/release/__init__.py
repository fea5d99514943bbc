"""Release a moving state under a policy graph. Trust: only oneself."""

from discreet.release.crowd import Crowd
from discreet.release.map import Map
from discreet.release.policy import Policy
from discreet.release.stream import Stream

__all__ = ["Crowd", "Map", "Policy", "Stream"]
