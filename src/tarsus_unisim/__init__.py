"""Tarsus as a physics backend of `unisim-core`, the interface of UniLab; extra `unisim`."""

from tarsus.installation import missing_package

try:
    import unisim as unisim
except ImportError:
    raise missing_package("unisim-core", "this", "unisim") from None
