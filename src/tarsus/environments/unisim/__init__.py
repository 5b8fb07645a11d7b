"""Tarsus as a physics backend of `unisim-core`, the contract of UniLab; the extra `unisim`."""

from tarsus.errors import TarsusError

try:
    import unisim as unisim
except ImportError:
    raise TarsusError('this needs the package unisim-core: pip install "tarsus[unisim]".') from None
